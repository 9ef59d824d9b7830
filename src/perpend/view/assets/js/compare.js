// Compare: two values of one thing (runs, models, conditions, rule versions), trial by trial, what changed first.

const SCORE = "score";

/** What can be compared: columns with two values or more, and scorers with one another. */
function comparable() {
  const ways = ["model", "run", "condition", "sampling"]
    .filter((name) => varied(name) > 1 && column(name).isCoded)
    .map((name) => [name, column(name).labels]);
  const scores = [...DATA.columns.keys()]
    .filter((name) => name.startsWith("score:"))
    .filter((name) => varied(name) > 1)
    .map((name) => name.slice(6));
  return scores.length > 1 ? [...ways, [SCORE, scores]] : ways;
}

/** The two that a reader wants first: versions of one rule; control and the condition that changes most. */
function firstPair(of, values, rows) {
  if (of === "condition" && values.length > 2 && values.length <= 12) {
    const a = values.includes("control") ? "control" : values[0];
    const changed = (b) => outcomeChanges(rows, of, a, b).words.filter(([from, to]) => from !== to).length;
    return [
      a,
      values
        .filter((value) => value !== a)
        .map((b) => [changed(b), b])
        .sort((x, y) => y[0] - x[0])[0][1],
    ];
  }
  if (of === SCORE) {
    const stem = (name) => name.split("@")[0];
    for (const a of values) for (const b of values) if (a < b && stem(a) === stem(b)) return [a, b];
  }
  return [values[0], values[1]];
}

/**
 * Pairs of rows that differ in `of` only: [rowA, rowB]. Where the two sides have no value of another column in common
 * (two runs of two models), that column does not count; where rows can then not be told apart, there is a problem.
 */
function pairsOf(rows, of, a, b) {
  const one = column(of),
    codeA = one.labels.indexOf(a),
    codeB = one.labels.indexOf(b);
  const sideA = [],
    sideB = [];
  for (const row of rows) {
    if (one.codes[row] === codeA) sideA.push(row);
    else if (one.codes[row] === codeB) sideB.push(row);
  }
  const others = KEY.filter((name) => name !== of && varied(name) > 1).map(column);
  const ignored = others
    .filter((one) => one.name !== "item" && sideB.length && !haveCommon(one, sideA, sideB))
    .map((one) => one.name);
  const keyOf = keysBy(others.filter((one) => !ignored.includes(one.name)));
  const byKey = new Map();
  let isTwice = false;
  for (const row of sideB) {
    const key = keyOf(row);
    isTwice ||= byKey.has(key);
    byKey.set(key, row);
  }
  const pairs = [],
    seen = new Set();
  for (const row of sideA) {
    const key = keyOf(row);
    isTwice ||= seen.has(key);
    seen.add(key);
    if (byKey.has(key)) pairs.push([row, byKey.get(key)]);
  }
  const problem = isTwice
    ? `Each side has several trials per item that differ in ${ignored.join(" and ") || "nothing that is recorded"}. Filter to one of them.`
    : "";
  return {
    pairs: isTwice ? [] : pairs,
    ignored,
    problem,
    left: [sideA.length - pairs.length, sideB.length - pairs.length],
  };
}

/** Whether two sets of rows share a value of the column. */
function haveCommon(one, sideA, sideB) {
  const key = one.isCoded ? (row) => one.codes[row] : (row) => one.at(row);
  const values = new Set(sideA.map(key));
  return sideB.some((row) => values.has(key(row)));
}

/** A key for each row by some columns: one number where that is exact, else a string. */
function keysBy(columns) {
  const sizes = columns.map((one) => one.labels?.length ?? Infinity);
  if (sizes.reduce((product, size) => product * size, 1) > Number.MAX_SAFE_INTEGER)
    return (row) => columns.map((one) => one.text(row)).join("\u0000");
  return (row) => {
    let key = 0;
    for (let n = 0; n < columns.length; n++) key = key * sizes[n] + columns[n].codes[row];
    return key;
  };
}

function compareScreen(rows) {
  const ways = comparable();
  if (!ways.length)
    return h(
      "p.empty",
      {},
      "There is nothing to compare: one run, one model, one condition, one scorer. Open two runs in one page: perpend view RUN RUN.",
    );
  const [of, values] = ways.find(([name]) => name === STATE.of) ?? ways[0];
  const [firstA, firstB] = firstPair(of, values, rows);
  const a = values.includes(STATE.a) ? STATE.a : firstA;
  const b =
    values.includes(STATE.b) && STATE.b !== a ? STATE.b : a === firstB ? values.find((value) => value !== a) : firstB;
  const changes = of === SCORE ? scoreChanges(rows, a, b) : outcomeChanges(rows, of, a, b);
  const { pairs, words, problem, notes } = changes;
  const transitions = tallied(pairs, words);
  const rank = ranked(transitions);
  const isOnly = ([from, to]) =>
    STATE.only === "" ? true : STATE.only === "changed" ? from !== to : `${from}→${to}` === STATE.only;
  const shown = pairs
    .map((pair, n) => ({ pair, words: words[n] }))
    .filter((one) => isOnly(one.words))
    .sort(
      (x, y) =>
        rank.get(`${x.words[0]}→${x.words[1]}`) - rank.get(`${y.words[0]}→${y.words[1]}`) || x.pair[0] - y.pair[0],
    );
  const option = (value) => [value, value];
  const changed = pairs.filter((_, n) => words[n][0] !== words[n][1]).length;
  return h(
    "section.compare",
    { "aria-label": "Compare" },
    h(
      "div.tools",
      {},
      choice(
        "Compare",
        ways.map(([name]) => [name, name === SCORE ? "scorers" : `${name}s`]),
        of,
        (value) => go({ of: value, a: "", b: "", only: "", t: [] }, { isStep: false }),
      ),
      choice("A", values.map(option), a, (value) =>
        go({ of, a: value, b: value === b ? a : b, only: "", t: [] }, { isStep: false }),
      ),
      choice("B", values.filter((value) => value !== a).map(option), b, (value) =>
        go({ of, a, b: value, only: "", t: [] }, { isStep: false }),
      ),
      toggle("Only what changed", STATE.only === "changed", (isOn) => go({ only: isOn ? "changed" : "" })),
    ),
    problem
      ? h("p.problem", {}, problem)
      : h(
          "p.count",
          { role: "status" },
          `${plural(pairs.length, "pair")}, ${count(changed)} changed (${percent(changed, pairs.length)}).`,
          notes ? ` ${notes}` : "",
        ),
    problem ? null : transitionTable(transitions, a, b),
    problem ? null : pairList(shown, of, a, b),
  );
}

function outcomeChanges(rows, of, a, b) {
  const { pairs, ignored, problem, left } = pairsOf(rows, of, a, b);
  const outcome = column("outcome");
  const notes = [
    ignored.length ? `${ignored.map(titleOf).join(" and ")} ${ignored.length === 1 ? "differs" : "differ"} too.` : "",
    left[0] || left[1] ? `Without a partner: ${count(left[0])} of A, ${count(left[1])} of B.` : "",
  ]
    .filter(Boolean)
    .join(" ");
  return { pairs, words: pairs.map(([x, y]) => [outcome.text(x), outcome.text(y)]), problem, notes };
}

function scoreChanges(rows, a, b) {
  const one = column(`score:${a}`),
    other = column(`score:${b}`);
  return {
    pairs: Array.from(rows, (row) => [row, row]),
    words: Array.from(rows, (row) => [one.text(row), other.text(row)]),
    problem: "",
    notes: "The same trials, judged by two scorers.",
  };
}

function tallied(pairs, words) {
  const tally = new Map();
  for (const [from, to] of words) {
    const key = `${from}→${to}`;
    tally.set(key, { from, to, n: (tally.get(key)?.n ?? 0) + 1 });
  }
  return tally;
}

/** The order of the transitions: what changed before what did not, then by name. */
function ranked(tally) {
  const keys = [...tally.keys()].sort(
    (x, y) => (tally.get(x).from === tally.get(x).to) - (tally.get(y).from === tally.get(y).to) || x.localeCompare(y),
  );
  return new Map(keys.map((key, n) => [key, n]));
}

/** From A to B: how often each outcome became which. Each count is a button that shows these pairs only. */
function transitionTable(tally, a, b) {
  const list = [...tally.values()];
  const order = (values) =>
    [...new Set(values)].sort((x, y) => OUTCOMES.indexOf(x) - OUTCOMES.indexOf(y) || x.localeCompare(y));
  const froms = order(list.map((one) => one.from)),
    tos = order(list.map((one) => one.to));
  if (!list.length || froms.length > 12 || tos.length > 12) return null;
  const cell = (from, to) => {
    const key = `${from}→${to}`,
      one = tally.get(key);
    if (!one) return h("td.n.quiet", {}, "0");
    return h(
      "td.n",
      { class: from === to ? "is-same" : "" },
      h(
        "button.count-button",
        {
          type: "button",
          "data-key": `transition ${key}`,
          "aria-pressed": STATE.only === key ? "true" : "false",
          title: `Show these ${one.n} only`,
          onclick: () => go({ only: STATE.only === key ? "" : key }),
        },
        count(one.n),
      ),
    );
  };
  const name = (value) => (OUTCOMES.includes(value) ? badge(value) : inertName(value, 30));
  return h(
    "div.scroll",
    { tabindex: "0", role: "region", "aria-label": "From A to B" },
    h(
      "p.count",
      {},
      "Rows: A, ",
      inertName(a, 40),
      ". Columns: B, ",
      inertName(b, 40),
      ". A number shows these pairs only.",
    ),
    h(
      "table.transitions",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td"),
          tos.map((to) => h("th", { scope: "col" }, name(to))),
        ),
      ),
      h(
        "tbody",
        {},
        froms.map((from) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, name(from)),
            tos.map((to) => cell(from, to)),
          ),
        ),
      ),
    ),
  );
}

function pairList(shown, of, a, b) {
  const names = KEY.filter((name) => name !== of && varied(name) > 1);
  const place = h("div.pair", { "aria-live": "off" });
  const sign = (value) => (OUTCOMES.includes(value) ? badge(value) : inertName(value, 30));
  const open = (n) => {
    if (!shown[n]) return;
    LIST.cursor = n;
    pairView(place, shown[n].pair, of, a, b);
  };
  LIST = new VirtualList({
    label: "Pairs",
    columns: 3,
    height: 34,
    empty: "No pair passes these filters.",
    row: (n) => {
      const { pair, words } = shown[n];
      const where = names.map((name) => (name === "repeat" ? "repeat " : "") + column(name).text(pair[0])).join(" · ");
      return h(
        "div.row.pair-row",
        { class: words[0] === words[1] ? "is-same" : "" },
        h(
          "div.cell",
          { role: "cell" },
          h(
            "a",
            {
              href: linkTo({ t: rowKey(pair[0]) }),
              onclick: (event) => {
                event.preventDefault();
                go({ t: rowKey(pair[0]) }, { isStep: false });
              },
            },
            inertName(where, 90),
          ),
        ),
        h("div.cell", { role: "cell" }, sign(words[0])),
        h("div.cell", { role: "cell" }, h("span.quiet", { "aria-hidden": "true" }, "→ "), sign(words[1])),
      );
    },
  });
  LIST.scroller.classList.add("is-short");
  const chosen = STATE.t.length ? rowOf(STATE.t) : -1;
  const at = Math.max(
    0,
    shown.findIndex((one) => one.pair[0] === chosen),
  );
  LIST.opened = (n) => shown[n] && go({ t: rowKey(shown[n].pair[0]) }, { isStep: false });
  LIST.start = at;
  LIST.total = shown.length;
  open(at);
  return [LIST.scroller, place];
}

/** The two answers of a pair side by side, and what differs in what was sent. */
async function pairView(place, [rowA, rowB], of, a, b) {
  fill(place, h("p.quiet", {}, "Reading…"));
  const trials = await Promise.all([trialAt(rowA), trialAt(rowB)]);
  const side = (letter, value, row, trial) => {
    const scores =
      of === SCORE
        ? {
            ...trial,
            scores: (trial.scores ?? []).map((score) =>
              score.scorer === value ? score : { ...score, start: null, end: null },
            ),
          }
        : trial;
    const reason = (trial.scores ?? []).find((score) => score.scorer === value)?.reason;
    return h(
      "div.side",
      {},
      h("h3", {}, `${letter}: `, inertName(value, 60)),
      h(
        "p",
        {},
        of === SCORE
          ? [h("strong", {}, column(`score:${value}`).text(row)), reason ? [" ", inertName(reason, 200)] : null]
          : badge(column("outcome").at(row)),
        " ",
        h("a", { href: linkToTrial(row) }, "open the trial"),
      ),
      turnsView(scores, [], of === SCORE ? value : primaryOf(row)),
    );
  };
  fill(
    place,
    expectedView(trials[0]),
    h("div.sides", {}, side("A", a, rowA, trials[0]), side("B", b, rowB, trials[1])),
  );
}
