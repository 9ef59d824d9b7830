// Which rows are shown: ticked values by column, ranges of numbers, the trials of a claim, and the search.

/** The rows that a state lets through, in their order. `without`: a column whose own filter does not count. */
function rowsOf(state, without = null) {
  const tests = testsOf(state).filter((test) => test.name !== without);
  const rows = new Uint32Array(DATA.n);
  let n = 0;
  outer: for (let row = 0; row < DATA.n; row++) {
    for (const test of tests) if (!test.passes(row)) continue outer;
    rows[n++] = row;
  }
  return rows.subarray(0, n);
}

function testsOf(state) {
  const tests = [];
  for (const [name, wanted] of Object.entries(state.filters)) {
    const one = column(name);
    if (!one?.isCoded) continue;
    const allowed = new Uint8Array(one.labels.length);
    one.labels.forEach((label, code) => {
      allowed[code] = wanted.includes(label) ? 1 : 0;
    });
    const codes = one.codes;
    tests.push({ name, passes: (row) => allowed[codes[row]] === 1 });
  }
  for (const [name, [low, high]] of Object.entries(state.ranges)) {
    const numbers = column(name)?.numbers;
    if (!numbers) continue;
    tests.push({
      name,
      passes: (row) => !(low !== null && !(numbers[row] >= low)) && !(high !== null && !(numbers[row] <= high)),
    });
  }
  const claim = claimOf(state.claim);
  if (claim) {
    const inClaim = new Uint8Array(DATA.n);
    for (const row of claim.trials ?? []) inClaim[row] = 1;
    tests.push({ name: "claim", passes: (row) => inClaim[row] === 1 });
  }
  if (SEARCH.mask && !SEARCH.problem) {
    const { mask } = SEARCH;
    tests.push({ name: "text", passes: (row) => mask[row] === 1 });
  }
  return tests;
}

/** The claim that 'run.number' in the URL names. */
function claimOf(place) {
  if (!place) return null;
  const [run, number] = place.split(".").map(Number);
  return DATA.runs[run]?.claims?.[number] ?? null;
}

/** How many of the rows have each value of a coded column. */
function countsOf(one, rows) {
  const counts = new Uint32Array(one.labels.length);
  for (const row of rows) counts[one.codes[row]]++;
  return counts;
}

const TITLES = {
  run: "Run",
  model: "Model",
  item: "Item",
  condition: "Condition",
  sampling: "Sampling",
  repeat: "Repeat",
  outcome: "Outcome",
  finish: "Finish",
  error: "Error",
  tokens_in: "Tokens in",
  tokens_out: "Tokens out",
  seconds: "Seconds",
  attempts: "Attempts",
};

/** A column's name for people. */
function titleOf(name) {
  if (TITLES[name]) return TITLES[name];
  const [kind, ...rest] = name.split(":");
  const own = rest.join(":");
  if (kind === "tag") return own;
  if (kind === "score") return `Score ${own}`;
  if (kind === "label") return `Label by ${own}`;
  return name;
}

/** The columns that can be filtered: those in which rows differ, in a reader's order. */
function filterable() {
  const order = ["outcome", "condition", "model", "run", "sampling", "repeat", "finish", "error", "item"];
  const rank = (name) =>
    order.includes(name)
      ? order.indexOf(name)
      : name.startsWith("tag:")
        ? 20
        : name.startsWith("score:")
          ? 21
          : name.startsWith("label:")
            ? 22
            : 23;
  return [...DATA.columns.keys()].filter((name) => varied(name) > 1).sort((a, b) => rank(a) - rank(b));
}

const MOST_VALUES = 40;

/** The panel of filters beside a screen: search, and one group per column with its values and their counts. */
function filterPanel(state, rows) {
  const groups = filterable().map((name) => group(name));
  return h(
    "details.filters",
    {
      open: window.innerWidth >= 1000 || UI.isFiltersOpen,
      ontoggle: (event) => {
        UI.isFiltersOpen = event.target.open;
      },
    },
    h("summary", {}, "Filters"),
    h("div.groups", {}, groups),
  );

  function group(name) {
    const one = column(name);
    const isUsed = name in state.filters || name in state.ranges;
    const isOpen = isUsed || UI.openGroups.has(name);
    const body = h("div.values");
    const details = h(
      "details.group",
      { open: isOpen, "data-column": name },
      h("summary", {}, inertName(titleOf(name), 60), isUsed ? h("span.used", {}, " · on") : null),
      body,
    );
    details.addEventListener("toggle", () => {
      if (details.open) UI.openGroups.add(name);
      else UI.openGroups.delete(name);
      if (details.open && !body.firstChild) fill(body, values(one));
    });
    if (isOpen) fill(body, values(one));
    return details;
  }

  function values(one) {
    if (!one.isCoded) return range(one);
    const counts = countsOf(one, one.name in state.filters ? rowsOf(state, one.name) : rows);
    const wanted = state.filters[one.name] ?? [];
    const order = one.labels
      .map((_, code) => code)
      .filter((code) => one.total[code] || wanted.includes(one.labels[code]));
    if (one.name === "outcome") order.sort((a, b) => OUTCOMES.indexOf(one.labels[a]) - OUTCOMES.indexOf(one.labels[b]));
    else if (order.length > MOST_VALUES)
      order.sort((a, b) => wanted.includes(one.labels[b]) - wanted.includes(one.labels[a]) || counts[b] - counts[a]);
    const list = h("div");
    const show = (part) => {
      const fitting = order.filter((code) => one.labels[code].toLowerCase().includes(part));
      const left = fitting.length - MOST_VALUES;
      fill(
        list,
        fitting.slice(0, MOST_VALUES).map((code) => tick(one, one.labels[code], counts[code], wanted)),
        left > 0 ? h("p.quiet", {}, `${count(left)} more: type a part of the value.`) : null,
      );
    };
    show("");
    if (order.length <= MOST_VALUES) return list;
    const find = h("input", {
      type: "search",
      "aria-label": `Find a value of ${titleOf(one.name)}`,
      placeholder: "Find a value",
      oninput: (event) => show(event.target.value.toLowerCase()),
    });
    return [find, list];
  }

  function tick(one, label, n, wanted) {
    const isOn = wanted.includes(label);
    const change = (event) => {
      const kept = wanted.filter((other) => other !== label);
      tickChanged(one.name, event.target.checked ? [...kept, label] : kept);
    };
    const words = one.name === "outcome" ? badge(label) : inertName(label, 44);
    return h(
      "label.tick",
      { class: n === 0 && !isOn ? "is-empty" : "" },
      h("input", { type: "checkbox", "data-key": `tick ${one.name} ${label}`, checked: isOn, onchange: change }),
      words,
      h("span.n", {}, count(n)),
    );
  }

  function tickChanged(name, wanted) {
    const filters = { ...STATE.filters };
    if (wanted.length) filters[name] = wanted;
    else delete filters[name];
    go({ filters });
  }

  function range(one) {
    const [low, high] = state.ranges[one.name] ?? [null, null];
    const bound = (which, value) =>
      h(
        "label",
        {},
        which,
        h("input", {
          type: "number",
          step: "any",
          value: value ?? "",
          "aria-label": `${titleOf(one.name)} ${which}`,
          onchange: (event) => {
            const number = event.target.value === "" ? null : Number(event.target.value);
            const [from, to] = STATE.ranges[one.name] ?? [null, null];
            const next = which === "from" ? [number, to] : [from, number];
            const ranges = { ...STATE.ranges };
            if (next.every((end) => end === null)) delete ranges[one.name];
            else ranges[one.name] = next;
            go({ ranges });
          },
        }),
      );
    return h("div.range", {}, bound("from", low), bound("to", high));
  }
}

/** What is on at the moment, as buttons that take each filter away again. */
function activeFilters(state) {
  const chips = [];
  const chip = (words, next) =>
    chips.push(
      h(
        "button.chip",
        { type: "button", onclick: () => go(next()), title: "Remove this filter" },
        words,
        h("span", { "aria-hidden": "true" }, " ×"),
      ),
    );
  const less = (map, name) => Object.fromEntries(Object.entries(map).filter(([key]) => key !== name));
  for (const [name, wanted] of Object.entries(state.filters)) {
    const short =
      wanted.length > 3 ? plural(wanted.length, "value") : wanted.map((one) => escaped(one).slice(0, 40)).join(" or ");
    chip([inertName(titleOf(name), 40), ": ", short], () => ({ filters: less(STATE.filters, name) }));
  }
  for (const [name, [low, high]] of Object.entries(state.ranges)) {
    chip([inertName(titleOf(name), 40), low !== null ? ` ≥ ${low}` : "", high !== null ? ` ≤ ${high}` : ""], () => ({
      ranges: less(STATE.ranges, name),
    }));
  }
  if (state.claim && claimOf(state.claim))
    chip(["Claim: ", inertName(claimOf(state.claim).text, 50)], () => ({ claim: "" }));
  if (chips.length > 1)
    chips.push(
      h(
        "button.chip.all",
        { type: "button", onclick: () => go({ filters: {}, ranges: {}, claim: "", q: "" }) },
        "Remove all",
      ),
    );
  return chips.length ? h("div.chips", {}, chips) : null;
}
