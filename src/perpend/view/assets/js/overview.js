// Overview: the question and its answer in a sentence, the numbers with their intervals, and what to be careful about.

const CARDS = 4;

/** One run in full; of several, what each says, with a link to all of it. */
function overviewScreen() {
  const runs = DATA.runs;
  const chosen = runs.length === 1 ? runs[0] : runs[Number(STATE.run)];
  if (STATE.run === "" && runs.length > 1) {
    return h(
      "div.overview",
      {},
      runs.map((run, n) => overviewOf(run, n, true)),
    );
  }
  if (!chosen)
    return h("p.empty", {}, "This page has no such run. ", h("a", { href: linkTo({ run: "" }) }, "All runs"));
  const others = h("p.runs", {}, h("a", { href: linkTo({ run: "" }) }, `All ${count(runs.length)} runs`));
  return h("div.overview", {}, runs.length > 1 ? others : null, overviewOf(chosen, runs.indexOf(chosen), false));
}

const KINDS = { run: "a run", published: "a published folder", imported: "an imported log" };

function overviewOf(run, number, isShort) {
  return h(
    "article.run",
    { "aria-label": `Run ${run.name}` },
    h(
      "p.eyebrow",
      {},
      inertName(run.task ?? "", 60),
      run.task ? " · " : "",
      KINDS[run.kind] ?? "",
      DATA.runs.length > 1 ? [" · ", inertName(run.name, 60)] : null,
      auditOf(run),
      growth(run),
    ),
    run.question ? h("h2.question", {}, run.question) : null,
    (run.answer ?? []).map((sentence, n) => h(n ? "p" : "p.answer", {}, sentence)),
    cautions(run.cautions ?? []),
    cardsOf(run.headline ?? []),
    outcomesOf(number),
    isShort
      ? h(
          "p.all",
          {},
          h(
            "a",
            { href: linkTo({ run: String(number) }) },
            "Figures, gates and all numbers of ",
            inertName(run.name, 60),
          ),
        )
      : [
          run.figures?.length ? h("div.figures", {}, run.figures.map(figure)) : null,
          gates(run.gates ?? []),
          facts(run.facts ?? []),
          numbersOf(run.headline ?? []),
          scorers(run.scorers ?? []),
        ],
  );
}

/** What the audit of a run said, where there was one. */
function auditOf(run) {
  const audit = (run.facts ?? []).find(([label]) => label === "Audit");
  return audit ? [" · audited: ", inertName(audit[1], 120)] : null;
}

function growth(run) {
  if (!DATA.index.growing || !(run.planned > run.answered)) return null;
  return h("span.growth", {}, ` · ${count(run.answered)} of ${plural(run.planned, "trial")} answered, and growing`);
}

function cautions(list) {
  if (!list.length) return null;
  return h(
    "section.cautions",
    { "aria-label": "Cautions" },
    h("h3", {}, list.length === 1 ? "Caution" : "Cautions"),
    h(
      "ul",
      {},
      list.map((words) => h("li", {}, words)),
    ),
  );
}

/** What all numbers of the list have in common need not be said of each. */
function commonWhere(list) {
  const entries = Object.entries(list[0]?.where ?? {});
  return new Set(
    entries
      .filter(([key, value]) => list.length > 1 && list.every((one) => one.where?.[key] === value))
      .map(([key]) => key),
  );
}

const whereOf = (one, common = new Set()) =>
  Object.entries(one.where ?? {})
    .filter(([key]) => !common.has(key))
    .map(([key, value]) => (key === "condition" || key === "model" ? value : `${key} ${value}`))
    .join(", ");

/** The numbers that answer the question, as cards. */
function cardsOf(list) {
  if (!list.length) return null;
  const common = commonWhere(list);
  return h(
    "section",
    { "aria-label": "Headline numbers" },
    h("h3.hidden", {}, "Headline numbers"),
    h(
      "div.cards",
      {},
      list.slice(0, CARDS).map((one) => card(one, common)),
    ),
  );
}

/** Every number, in tables with the intervals drawn to one scale. */
function numbersOf(list) {
  if (list.length <= CARDS) return null;
  const common = commonWhere(list),
    groups = Map.groupBy(list, (one) => one.label ?? one.name);
  const body = h("div");
  return h(
    "details.more",
    {
      ontoggle: (event) =>
        event.target.open &&
        !body.firstChild &&
        fill(
          body,
          [...groups].map(([label, group]) => numberTable(label, group, common)),
        ),
    },
    h("summary", {}, h("h3", {}, `All ${count(list.length)} numbers`)),
    body,
  );
}

function card(one, common) {
  const where = whereOf(one, common),
    label = one.label ?? one.name;
  return h(
    "div.card",
    {},
    h("p.label", {}, inertName(where || label, 90)),
    h(
      "p.big",
      { class: one.value === null ? "is-undefined" : "" },
      one.value === null ? "undefined" : (one.short ?? one.text),
    ),
    h(
      "p.under",
      {},
      one.value === null
        ? one.reason
        : [one.interval, Number.isInteger(one.n) ? `n = ${count(one.n)}` : ""].filter(Boolean).join(", "),
    ),
    where ? h("p.where", {}, inertName(label, 90)) : null,
  );
}

function numberTable(label, group, common) {
  const ends = group.flatMap((one) => [one.low, one.high, one.value]).filter((end) => typeof end === "number");
  const low = Math.min(...ends),
    high = Math.max(...ends);
  const isDrawn = ends.length > 1 && high > low;
  return h(
    "div.scroll",
    { tabindex: "0", role: "region", "aria-label": label },
    h(
      "table.numbers",
      {},
      h("caption", {}, label),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["", "Value", "95% interval", isDrawn ? "" : null, "n"]
            .filter((words) => words !== null)
            .map((words) => (words ? h("th", { scope: "col" }, words) : h("td"))),
        ),
      ),
      h(
        "tbody",
        {},
        group.map((one) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, inertName(whereOf(one, common) || "all", 80)),
            h(
              "td",
              {},
              one.value === null ? h("span.quiet", {}, `undefined: ${one.reason ?? ""}`) : (one.short ?? one.text),
            ),
            h("td.quiet", {}, one.interval ?? ""),
            isDrawn ? h("td", {}, whisker(one, low, high)) : null,
            h("td.n", {}, one.n === null || one.n === undefined ? "" : count(one.n)),
          ),
        ),
      ),
    ),
  );
}

/** A point and its interval on the scale that all rows of the table share. */
function whisker(one, low, high) {
  const x = (value) => 4 + (152 * (value - low)) / (high - low);
  const drawing = svg("svg", {
    viewBox: "0 0 160 16",
    width: 160,
    height: 16,
    class: "whisker",
    "aria-hidden": "true",
  });
  if (low < 0 && high > 0) drawing.append(svg("line", { x1: x(0), x2: x(0), y1: 0, y2: 16, class: "zero" }));
  if (typeof one.low === "number" && typeof one.high === "number")
    drawing.append(svg("line", { x1: x(one.low), x2: x(one.high), y1: 8, y2: 8 }));
  if (typeof one.value === "number") drawing.append(svg("circle", { cx: x(one.value), cy: 8, r: 3.5 }));
  return drawing;
}

/** Outcomes by condition (or model): counts of the trials in this page, each a link to them. */
function outcomesOf(number) {
  const run = column("run"),
    outcome = column("outcome");
  const own = run.labels.indexOf(DATA.runs[number].name.toWellFormed());
  const tallyBy = (one) => {
    const tally = one.labels.map(() => new Array(OUTCOMES.length).fill(0));
    for (let row = 0; row < DATA.n; row++) {
      if (run.codes[row] === own) tally[one.codes[row]][outcomePlace(outcome.labels[outcome.codes[row]])]++;
    }
    return tally;
  };
  const isVaried = (tally) => tally.filter((counts) => counts.some(Boolean)).length > 1;
  let by = "condition",
    one = column(by),
    tally = tallyBy(one);
  if (!isVaried(tally)) {
    by = "model";
    one = column(by);
    tally = tallyBy(one);
  }
  if (!tally.flat().some(Boolean)) return null;
  const used = OUTCOMES.filter((_, place) => tally.some((counts) => counts[place]));
  const runFilter = DATA.runs.length > 1 ? { run: [DATA.runs[number].name] } : {};
  return h(
    "section",
    {},
    h("h3", {}, `What came back, by ${by}`),
    h(
      "p.legend",
      {},
      used.map((name) => badge(name)),
    ),
    h(
      "table.outcomes",
      {},
      h("colgroup", {}, h("col"), h("col"), h("col")),
      h(
        "thead.hidden",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, titleOf(by)),
          h("th", { scope: "col" }, "Outcomes"),
          h("th", { scope: "col" }, "Trials"),
        ),
      ),
      h(
        "tbody",
        {},
        one.labels
          .map((label, code) => [label, tally[code]])
          .filter(([, counts]) => counts.some(Boolean))
          .map(([label, counts]) =>
            h(
              "tr",
              {},
              h(
                "th",
                { scope: "row" },
                h(
                  "a",
                  { href: linkTo({ screen: "trials", filters: { [by]: [label], ...runFilter } }) },
                  inertName(label, 60),
                ),
              ),
              h("td", {}, outcomeBar(counts)),
              h("td.n", {}, count(counts.reduce((sum, n) => sum + n, 0))),
            ),
          ),
      ),
    ),
  );
}

function figure(one) {
  return h(
    "figure",
    {},
    h("img", {
      src: `data:${one.type};base64,${one.data}`,
      alt: one.title ?? "A figure of the study",
      onload: ({ target }) =>
        target.parentNode.classList.toggle("is-wide", target.naturalWidth > 1.9 * target.naturalHeight),
    }),
    h("figcaption", {}, h("strong", {}, one.title ?? ""), one.caption ? [" ", one.caption] : null),
  );
}

function gates(list) {
  if (!list.length) return null;
  return h(
    "section",
    {},
    h("h3", {}, "Gates"),
    h(
      "ul.gates",
      {},
      list.map((gate) =>
        h(
          "li",
          {},
          h(
            "span.badge",
            { class: gate.passed ? "o-right" : "o-error" },
            h("span.glyph", { "aria-hidden": "true" }, gate.passed ? "✓" : "!"),
            h("span", {}, gate.passed ? "passed" : "not met"),
          ),
          " ",
          h("strong", {}, gate.name),
          " ",
          gate.text,
        ),
      ),
    ),
  );
}

function facts(list) {
  if (!list.length) return null;
  return h(
    "section",
    {},
    h("h3", {}, "The run"),
    h(
      "dl.facts",
      {},
      list.map(([label, words]) => h("div", {}, h("dt", {}, label), h("dd", {}, words))),
    ),
  );
}

function scorers(list) {
  if (!list.length) return null;
  return h(
    "details.more",
    {},
    h("summary", {}, h("h3", {}, plural(list.length, "scorer"))),
    h(
      "dl.scorers",
      {},
      list.map((one) => h("div", {}, h("dt", {}, `${one.name}@${one.version}`), h("dd", {}, one.what ?? ""))),
    ),
  );
}
