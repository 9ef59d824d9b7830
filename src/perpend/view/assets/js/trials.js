// Trials: every trial that passes the filters, one per row, with the beginning of its answer or the place of the search.

function trialsScreen(rows) {
  const shown = ["run", "item", "condition", "model", "sampling", "repeat"].filter(
    (name) => name === "item" || varied(name) > 1,
  );
  const isNarrow = window.innerWidth < 700,
    hasQuestion = !isNarrow && (shown.length < 3 || window.innerWidth >= 1500);
  const template = isNarrow
    ? "1fr"
    : `6.5rem ${shown.map((name) => ({ item: "minmax(6rem, 1.5fr)", repeat: "4rem", sampling: "minmax(5.2rem, 0.5fr)" })[name] ?? "minmax(4.5rem, 1.1fr)").join(" ")}${hasQuestion ? " minmax(10rem, 2.6fr)" : ""} minmax(12rem, 2.6fr)`;
  const head = isNarrow
    ? null
    : h(
        "div.row",
        { role: "row" },
        ["Outcome", ...shown.map(titleOf), ...(hasQuestion ? ["Question"] : []), "Answer"].map((words) =>
          h("div.cell", { role: "columnheader" }, words),
        ),
      );
  if (head) head.style.gridTemplateColumns = template;
  const later = snippetsLater();
  LIST = new VirtualList({
    label: "Trials",
    columns: shown.length + 2 + (hasQuestion ? 1 : 0),
    head,
    height: isNarrow ? 62 : 34,
    row: (n) => {
      const row = rows[n];
      const trial = trialNow(row);
      if (!trial) later(row);
      const names = shown.map((name) => column(name).text(row));
      const snippet = h("div.cell.snippet", { role: "cell" }, trial ? snippetOf(trial) : "…");
      const question = hasQuestion
        ? h("div.cell.snippet.quiet", { role: "cell" }, trial ? questionOf(trial) : "…")
        : null;
      const outcome = badge(column("outcome").at(row));
      const rest = names.filter((_, at) => shown[at] !== "item").join(", ");
      const link = (words) => h("a", { href: linkToTrial(row) }, words, h("span.hidden", {}, ` ${rest}`));
      const line = isNarrow
        ? h(
            "div.row.narrow",
            {},
            h(
              "div.cell",
              { role: "cell" },
              outcome,
              " ",
              link(inertName(names[shown.indexOf("item")], 40)),
              h(
                "span.quiet",
                {},
                " · ",
                inertName(
                  names
                    .filter((_, at) => shown[at] !== "item")
                    .map((name) => shortened(name, 20))
                    .join(" · "),
                  120,
                ),
              ),
            ),
            snippet,
          )
        : h(
            "div.row",
            {},
            h("div.cell", { role: "cell" }, outcome),
            names.map((name, at) =>
              h(
                "div.cell",
                { role: "cell" },
                shown[at] === "item" ? link(inertName(name, 40)) : inertName(name, window.innerWidth < 1500 ? 15 : 26),
              ),
            ),
            question,
            snippet,
          );
      line.style.gridTemplateColumns = template;
      return line;
    },
  });
  return h(
    "section.trials",
    { "aria-label": "Trials" },
    h("p.count", { role: "status" }, `${plural(rows.length, "trial")} of ${count(DATA.n)}.`),
    LIST.scroller,
  );
}

/** Texts that are not in memory are read when the scrolling rests; then the list is drawn again. */
function snippetsLater() {
  const wanted = new Set();
  let timer = null;
  const list = () => LIST;
  return (row) => {
    wanted.add(chunkOf(row));
    clearTimeout(timer);
    const own = list();
    timer = setTimeout(async () => {
      const chunks = [...wanted].slice(-4);
      wanted.clear();
      await Promise.allSettled(chunks.map(chunkAt));
      if (LIST === own || !own) LIST?.draw(true);
    }, 60);
  };
}

const SNIPPET = 220,
  SAME = 40;

/** The question in one line, without the words with which all questions nearby begin. */
function questionOf(trial) {
  const prompt = trial.item?.prompt ?? "";
  const start = sharedStart();
  return start && prompt.startsWith(start) && prompt.length > start.length
    ? `…${oneLine(prompt.slice(start.length))}`
    : oneLine(prompt);
}

/** What the questions of the first chunk in memory all begin with, up to a blank; '' where that is short. */
function sharedStart() {
  const trials = [...CHUNKS.values()].find((chunk) => chunk.body)?.body.trials ?? [];
  if (sharedStart.of === trials) return sharedStart.words;
  const prompts = [...new Set(trials.map((trial) => trial.item?.prompt ?? ""))];
  let words = prompts.length > 1 ? prompts[0] : "";
  for (const prompt of prompts) while (words && !prompt.startsWith(words)) words = words.slice(0, -1);
  words = words.slice(0, words.search(/\s\S*$/) + 1);
  Object.assign(sharedStart, { of: trials, words: words.length > SAME ? words : "" });
  return sharedStart.words;
}

const oneLine = (text) => text.slice(0, SNIPPET).replace(/\s+/g, " ").trim();

/** The place of a plain search with its surroundings, else the beginning of the answer, in one line. */
function snippetOf(trial) {
  const turn = trial.turns.at(-1);
  if (!turn) return h("span.quiet", {}, "not asked");
  const answer = turn.answer ?? "";
  if (SEARCH.text && !SEARCH.isPattern && !SEARCH.problem) {
    for (const text of [
      ...trial.turns.map((one) => one.answer ?? ""),
      ...turn.messages.map((message) => message.content ?? ""),
    ]) {
      const place = plainPlaces(text.slice(0, 200000))[0];
      if (!place) continue;
      const from = Math.max(0, place[0] - 40);
      const flat = (start, end) => text.slice(start, end).replace(/\s+/g, " ");
      return [
        from ? "…" : "",
        flat(from, place[0]),
        h("mark.hit", {}, flat(place[0], Math.min(place[1], place[0] + 80))),
        flat(place[1], place[1] + SNIPPET),
      ];
    }
  }
  if (turn.error) return h("span.quiet", {}, oneLine(turn.error));
  const segment = (turn.segments ?? []).find((one) => one.kind === "answer");
  const from = segment && Number.isInteger(segment.start) ? segment.start : 0;
  const words = oneLine(answer.slice(from, from + SNIPPET));
  return words || h("span.quiet", {}, answer ? "blank" : "no text");
}
