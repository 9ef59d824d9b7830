// Trial: the messages as they were sent, the answer with what each scorer rests on, and the same item elsewhere.

/** The screen of one trial; it is filled when its texts have been read. */
function trialScreen(rows) {
  const row = rowOf(STATE.t);
  if (row < 0) return h("p.empty", {}, "This page has no such trial. The link may be from another run.");
  const at = rows.indexOf(row);
  const body = h("div.trial-body", {}, h("p.quiet", {}, "Reading…"));
  const screen = h("article.trial", { "aria-label": "Trial", "data-row": row }, trialHead(row, rows, at), body);
  trialAt(row).then(
    (trial) => fillTrial(body, row, trial),
    (error) => fill(body, h("p.problem", {}, error.message)),
  );
  return screen;
}

function trialHead(row, rows, at) {
  const step = (words, key, to) =>
    to === undefined
      ? h("span.step.is-off", {}, words)
      : h("a.step", { href: linkToTrial(to), title: `${words} trial (${key})` }, words);
  const place = ["condition", "model", "sampling", "repeat", "run"].filter(
    (name) => varied(name) > 1 || name === "model" || name === "condition",
  );
  return h(
    "header.trial-head",
    {},
    h(
      "nav.steps",
      { "aria-label": "Trials" },
      h("a", { href: linkTo({ screen: "trials" }) }, "All trials"),
      step("Previous", "k", at < 0 ? undefined : rows[at - 1]),
      step("Next", "j", at < 0 ? rows[0] : rows[at + 1]),
      h(
        "span.quiet",
        {},
        at < 0 ? "not among the trials that pass the filters" : `${count(at + 1)} of ${count(rows.length)}`,
      ),
    ),
    h("h2", {}, badge(column("outcome").at(row)), " ", inertName(column("item").text(row), 120)),
    h(
      "dl.place",
      {},
      place.map((name) => h("div", {}, h("dt", {}, titleOf(name)), h("dd", {}, inertName(column(name).text(row), 90)))),
      [...DATA.columns.keys()]
        .filter((name) => name.startsWith("tag:") || name.startsWith("label:"))
        .filter((name) => column(name).at(row) !== null)
        .map((name) =>
          h("div", {}, h("dt", {}, inertName(titleOf(name), 40)), h("dd", {}, inertName(column(name).text(row), 60))),
        ),
    ),
  );
}

function fillTrial(body, row, trial) {
  const texts = textsOf(trial);
  const primary = primaryOf(row);
  const conversation = h(
    "div.conversation",
    {},
    turnsView(
      trial,
      SEARCH.isPattern ? [] : texts.map((text) => (SEARCH.text && !SEARCH.problem ? plainPlaces(text) : [])),
      primary,
    ),
  );
  if (SEARCH.isPattern)
    placesIn(texts).then(
      (hits) => hits.some((one) => one.length) && fill(conversation, turnsView(trial, hits, primary)),
    );
  const others = rowsOfItem(row).filter((other) => other !== row);
  fill(
    body,
    h(
      "div.actions",
      {},
      button("Copy as Markdown", () => copy(markdownOf(row, trial), "the trial as Markdown"), {
        "data-key": "copy-markdown",
      }),
      trial.show
        ? button("Copy command", () => copy(escaped(trial.show), "the command that shows this trial"), {
            title: trial.show,
          })
        : null,
      button("Copy link", () => copy(location.href, "the link")),
    ),
    h(
      "div.columns",
      {},
      h("div", {}, expectedView(trial), conversation),
      h("div.aside", {}, scoresView(trial, primary), candidatesView(trial), usageView(trial)),
    ),
    others.length ? besideView(row, others) : null,
  );
}

/** The scorer that the outcome of a row rests on. */
const primaryOf = (row) => DATA.runs.find((run) => run.name === column("run").text(row))?.primary;

function expectedView(trial) {
  const { target, decoy, aliases, choices } = trial.item ?? {};
  const parts = [];
  const part = (label, words) =>
    words !== null &&
    words !== undefined &&
    words !== "" &&
    parts.push(h("div", {}, h("dt", {}, label), h("dd", {}, inertName(String(words), 200))));
  part("Expected", target ?? trial.expected);
  part("Also accepted", (aliases ?? []).join("; "));
  part("Planted", decoy);
  part("Choices", (choices ?? []).join("; "));
  return parts.length ? h("dl.place.expected", {}, parts) : null;
}

const BESIDE = 12;

/** The same item under other conditions, by other models and in other repeats, side by side. */
function besideView(row, others) {
  const ways = ["condition", "model", "sampling", "repeat"].filter(
    (name) => new Set(others.concat(row).map((one) => column(name)?.text(one))).size > 1,
  );
  const onlyBy = (name) =>
    others.filter((other) => ways.every((way) => way === name || column(way).text(other) === column(way).text(row)));
  const sets = [
    ["all", others],
    ...ways.map((name) => [name, onlyBy(name)]).filter(([, list]) => list.length && list.length < others.length),
  ];
  const strip = h("div.beside", { tabindex: "0", role: "region", "aria-label": "The same item elsewhere" });
  const show = (list, n) => {
    fill(
      strip,
      list.slice(0, n).map((other) => besideCard(other, ways)),
      list.length > n
        ? button(`Show ${count(Math.min(BESIDE, list.length - n))} of ${count(list.length - n)} more`, () =>
            show(list, n + BESIDE),
          )
        : null,
    );
  };
  const first = sets.find(([name]) => name === STATE.beside) ?? sets[0];
  show(first[1], BESIDE);
  const pick = (name) => {
    STATE = { ...STATE, beside: name === "all" ? "" : name };
    history.replaceState(null, "", hashOf(STATE));
    show(sets.find(([own]) => own === name)[1], BESIDE);
  };
  return h(
    "section",
    {},
    h("h3", {}, "The same item elsewhere"),
    sets.length > 1
      ? choice(
          "Beside it",
          sets.map(([name, list]) => [
            name,
            name === "all" ? `all ${count(list.length)} other trials` : `other ${name}s only (${count(list.length)})`,
          ]),
          first[0],
          pick,
        )
      : null,
    strip,
  );
}

function besideCard(other, ways) {
  const body = h("div.foreign-place", {}, h("p.quiet", {}, "Reading…"));
  const primary = primaryOf(other);
  trialAt(other).then(
    (trial) => {
      const n = trial.turns.length - 1,
        turn = trial.turns[n];
      fill(
        body,
        !turn
          ? h("p.quiet", {}, "Not asked.")
          : turn.error
            ? h("p.error-text", {}, inertName(turn.error, 300))
            : inertBlock(
                turn.answer || "(no text)",
                answerSpans(trial, n, primary).filter((span) => span.kind !== "evidence"),
              ),
      );
    },
    (error) => fill(body, h("p.problem", {}, error.message)),
  );
  return h(
    "div.beside-card",
    {},
    h(
      "p.beside-head",
      {},
      badge(column("outcome").at(other)),
      " ",
      h(
        "a",
        { href: linkToTrial(other) },
        inertName(
          ways
            .map((name) => (name === "repeat" ? `repeat ${column(name).text(other)}` : column(name).text(other)))
            .join(" · "),
          90,
        ),
      ),
    ),
    body,
  );
}

/** Step to another trial of the list. */
function stepTrial(rows, by) {
  const at = rows.indexOf(rowOf(STATE.t));
  const next = rows[at + by];
  if (next === undefined) return announce(by > 0 ? "This is the last trial." : "This is the first trial.");
  go({ t: rowKey(next) });
}

/** The next or previous highlighted place of the trial; past the last one, the next trial. */
function stepMark(rows, by) {
  const marks = [...document.querySelectorAll(".conversation mark")];
  const at = marks.findIndex((mark) => mark.classList.contains("is-current"));
  const next = at < 0 ? (by > 0 ? 0 : marks.length - 1) : at + by;
  if (marks[next] && (at >= 0 || by > 0)) markCurrent(marks[next]);
  else stepTrial(rows, by);
}
