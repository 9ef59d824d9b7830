// Labels: blinded reading. A reader sees the question, what the rubric needs and the answer; no model, no condition, no
// score. In a served page each label is written at once; in a file they are kept in the browser and offered as a file.

const LABELS = { given: new Map(), last: null };

/** Whether the server writes the labels of a run; otherwise the browser keeps them. */
const isWritten = (run) => MODE === "live" && run.kind === "run";

const labelKey = (run, by, trial) => JSON.stringify([run.name, run.labelling.rubric, by, trial]);
const storedAs = (run) => `perpend labels ${run.name} ${run.labelling.rubric}`;

/** Labels of this browser that are in no file yet. A browser may refuse to keep anything. */
function loadGiven(run) {
  if (isWritten(run)) return;
  try {
    for (const line of JSON.parse(localStorage.getItem(storedAs(run)) ?? "[]"))
      LABELS.given.set(labelKey(run, line.by, line.trial), line);
  } catch {
    /* without a store the labels live as long as the page */
  }
}

function keepGiven(run) {
  try {
    localStorage.setItem(storedAs(run), JSON.stringify(givenOf(run)));
  } catch {
    /* as above */
  }
}

const givenOf = (run) => [...LABELS.given].filter(([key]) => JSON.parse(key)[0] === run.name).map(([, line]) => line);

/** Labels of a reader by row: those in the data, and over them those given here. */
function labelsBy(run, reader) {
  const labels = new Map();
  const one = column(`label:${reader}`);
  const codes = column("run").codes,
    own = column("run").labels.indexOf(run.name);
  if (one)
    for (let row = 0; row < DATA.n; row++)
      if (codes[row] === own && one.at(row) !== null) labels.set(row, String(one.at(row)));
  for (const line of givenOf(run)) if (line.by === reader && line.row !== undefined) labels.set(line.row, line.label);
  return labels;
}

const readersOf = (run) => [
  ...new Set([
    ...[...DATA.columns.keys()].filter((name) => name.startsWith("label:")).map((name) => name.slice(6)),
    ...givenOf(run).map((line) => line.by),
  ]),
];

function labelsScreen() {
  const able = DATA.runs.filter((run) => run.labelling?.sample?.length);
  if (!able.length)
    return h(
      "p.empty",
      {},
      "No answer of this page can be labelled: its rubric needs answered trials of items with what it asks about.",
    );
  const run = able.find((one) => String(DATA.runs.indexOf(one)) === STATE.run) ?? able[0];
  loadGiven(run);
  const { labelling } = run;
  const reading = h("div.reading", { "aria-live": "polite" });
  const screen = h(
    "section.labels",
    { "aria-label": "Labels" },
    h(
      "div.tools",
      {},
      able.length > 1
        ? choice(
            "Run",
            able.map((one) => [String(DATA.runs.indexOf(one)), one.name]),
            String(DATA.runs.indexOf(run)),
            (value) => go({ run: value, at: "" }),
          )
        : null,
      h(
        "label.choice",
        {},
        h("span", {}, "Reader"),
        h("input", {
          type: "text",
          id: "reader",
          maxlength: "80",
          autocomplete: "off",
          value: STATE.reader,
          placeholder: "your name",
          "data-key": "reader",
          onchange: (event) => go({ reader: event.target.value.trim(), at: "" }),
        }),
      ),
    ),
    h("h2", {}, labelling.question),
    labelling.guide ? h("p.guide", {}, labelling.guide) : null,
    reading,
    h("div", { "data-part": "agreement" }, agreementView(run)),
  );
  if (STATE.reader) nextAnswer(run, reading);
  else
    fill(
      reading,
      h(
        "p.quiet",
        {},
        `${plural(labelling.sample.length, "answer")} drawn for reading, the same for every reader. Type a name to begin; it is written down with each label.`,
      ),
    );
  return screen;
}

/** The next answer that this reader has not labelled, or the one that was gone back to. */
async function nextAnswer(run, place) {
  const { labelling } = run,
    labels = labelsBy(run, STATE.reader);
  const rows = labelling.sample.map((entry) => entry[0]);
  const back = STATE.at === "" ? -1 : Number(STATE.at);
  const at = back >= 0 && back < rows.length ? back : rows.findIndex((row) => !labels.has(row));
  const done = rows.filter((row) => labels.has(row)).length;
  const progress = h(
    "div.progress",
    {},
    h("progress", { max: rows.length, value: done, "aria-label": "Labelled" }),
    h("span", {}, ` ${count(done)} of ${count(rows.length)} labelled by `, inertName(STATE.reader, 40)),
  );
  progress.firstChild.max = rows.length;
  progress.firstChild.value = done;
  LABELS.last = { run, at, rows, give: (option) => give(run, rows[at], at, option) };
  if (at < 0) {
    LABELS.last.at = rows.length;
    return fill(
      place,
      progress,
      h(
        "p",
        {},
        "Every answer of the sample is labelled. ",
        button("Back to the last one", () => stepBack()),
      ),
      saving(run),
    );
  }
  const trial = await trialAt(rows[at]);
  const item = trial.item ?? {};
  const needs = { target: "Right answer", decoy: "Claim" };
  const turn = trial.turns[trial.text_turn ?? trial.turns.length - 1];
  fill(
    place,
    progress,
    h(
      "div.blind",
      { "data-at": at },
      h("p.role", {}, "Question"),
      inertBlock(item.prompt ?? ""),
      (labelling.needs ?? []).map((part) => [
        h("p.role", {}, needs[part] ?? part),
        inertBlock(
          [item[part], part === "target" && item.aliases?.length ? `also written: ${item.aliases.join("; ")}` : ""]
            .filter(Boolean)
            .join("\n"),
        ),
      ]),
      h("p.role", {}, "Answer"),
      inertBlock(turn?.answer ?? ""),
    ),
    h(
      "div.options",
      { role: "group", "aria-label": labelling.question },
      labelling.options.map((option, n) =>
        h(
          "button.option",
          {
            type: "button",
            "data-key": `option ${n}`,
            "aria-pressed": labels.get(rows[at]) === option.name ? "true" : "false",
            onclick: () => LABELS.last.give(option),
          },
          h("kbd", {}, optionKey(labelling, n)),
          h("strong", {}, option.name),
          h("span", {}, option.means),
        ),
      ),
    ),
    h(
      "p",
      {},
      button("Back (b)", () => stepBack()),
      " ",
      h(
        "span.quiet",
        {},
        isWritten(run)
          ? "Each label is written to labels.jsonl at once."
          : "Labels are kept in this browser until you download them.",
      ),
    ),
    saving(run),
  );
}

const optionKey = (labelling, n) =>
  labelling.options[n].value === null && labelling.options.findIndex((one) => one.value === null) === n
    ? `${n + 1} u`
    : String(n + 1);

function stepBack() {
  const { at, rows } = LABELS.last ?? {};
  if (at > 0) go({ at: String(Math.min(at, rows.length) - 1) });
}

/** Give a label: the line that labels.jsonl has, written by the server or kept here. */
async function give(run, row, at, option) {
  const { labelling } = run;
  const trial = await trialAt(row);
  const [, stratum, drawn, of] = labelling.sample[at];
  const line = {
    trial: trial.number ?? trial.trial,
    value: option.value,
    by: STATE.reader,
    rubric: labelling.rubric,
    rubric_sha256: labelling.rubric_sha256,
    label: option.name,
  };
  if (labelling.measures) line.scorer = labelling.measures;
  if (trial.text_sha256) line.text_sha256 = trial.text_sha256;
  if (Number.isInteger(trial.text_turn)) line.turn = trial.text_turn;
  if (Number.isInteger(labelling.seed)) line.seed = labelling.seed;
  if (Number.isInteger(drawn)) Object.assign(line, { stratum, drawn, of });
  if (isWritten(run)) {
    try {
      await fetchJSON("api/labels", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ run: run.name, labels: [line] }),
      });
    } catch (error) {
      return announce(`Not written: ${error.message}`);
    }
  }
  LABELS.given.set(labelKey(run, STATE.reader, line.trial), { ...line, row });
  if (!isWritten(run)) keepGiven(run);
  announce(`${option.name}: written as label ${count(at + 1)}.`);
  go({ at: "" });
}

/** labels.jsonl of what was labelled here; `row` is of this page and stays here. */
function saving(run) {
  if (isWritten(run)) return null;
  const lines = givenOf(run);
  if (!lines.length) return null;
  const text = lines.map(({ row, ...line }) => JSON.stringify(line, Object.keys(line).sort()) + "\n").join("");
  return h(
    "p.saving",
    {},
    button(`Download labels.jsonl (${plural(lines.length, "label")})`, () => download("labels.jsonl", text), {
      id: "download-labels",
    }),
    " ",
    h(
      "span.quiet",
      {},
      `Put it into the run's folder, or take it in: perpend label RUN --rubric ${run.labelling.rubric} --from labels.jsonl`,
    ),
  );
}

/** How often each two readers agree, over the trials that both have labelled. */
function agreementView(run) {
  const readers = readersOf(run);
  const byReader = new Map(readers.map((reader) => [reader, labelsBy(run, reader)]));
  const rows = [];
  readers.forEach((one, n) =>
    readers.slice(n + 1).forEach((other) => {
      const both = [...byReader.get(one).keys()].filter((row) => byReader.get(other).has(row));
      const same = both.filter((row) => byReader.get(one).get(row) === byReader.get(other).get(row)).length;
      rows.push(
        h(
          "tr",
          {},
          h("th", { scope: "row" }, inertName(one, 40), " and ", inertName(other, 40)),
          h(
            "td",
            {},
            both.length
              ? `agree on ${count(same)} of ${count(both.length)} (${percent(same, both.length)})`
              : "no answer labelled by both",
          ),
        ),
      );
    }),
  );
  const cited = run.labelling.agreement ?? [];
  if (!readers.length && !cited.length) return null;
  return [
    h("h3", {}, "Readers"),
    h(
      "table.agreement",
      {},
      h("thead.hidden", {}, h("tr", {}, h("th", { scope: "col" }, "Readers"), h("th", { scope: "col" }, "Labels"))),
      h(
        "tbody",
        {},
        readers.map((reader) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, inertName(reader, 40)),
            h("td", {}, plural(byReader.get(reader).size, "label")),
          ),
        ),
        rows,
        cited.map((one) =>
          h("tr", {}, h("th", { scope: "row" }, one.label ?? one.name), h("td", {}, one.text ?? one.reason ?? "")),
        ),
      ),
    ),
  ];
}
