// What was sent and what came back: messages, answers with the spans that scorers rest on, and the same as Markdown.

const SEGMENTS = {
  reasoning: "reasoning",
  answer: "the answer",
  after: "text after the answer: an invented turn",
  unfinished: "unfinished: no answer was reached",
};

/** Every text of a trial in the order in which `turnsView` takes their hits: messages that are new, then the answer. */
function textsOf(trial) {
  return trial.turns.flatMap((turn, n) => [
    ...newMessages(trial, n).map((message) => message.content ?? ""),
    turn.answer ?? "",
  ]);
}

/** The messages of a turn that the turn before it did not have. */
function newMessages(trial, n) {
  const messages = trial.turns[n].messages ?? [];
  const before = n ? (trial.turns[n - 1].messages ?? []) : [];
  const isSame =
    before.length <= messages.length &&
    before.every((message, at) => message.content === messages[at].content && message.role === messages[at].role);
  return isSame ? messages.slice(before.length) : messages;
}

/** The turns of a trial. `hits`: the places of the search, by text. */
function turnsView(trial, hits = [], primary = undefined) {
  if (!trial.turns.length) return h("p.quiet", {}, "Not asked.");
  let at = 0;
  return trial.turns.map((turn, n) => {
    const messages = newMessages(trial, n);
    const left = (turn.messages ?? []).length - messages.length;
    return h(
      "section.turn",
      { "aria-label": trial.turns.length > 1 ? `Turn ${n + 1}` : "Conversation" },
      trial.turns.length > 1
        ? h("h4", {}, `Turn ${n + 1}`, left ? h("span.quiet", {}, ` the ${plural(left, "message")} before, and`) : null)
        : null,
      turn.messages?.length ? null : h("p.quiet", {}, turn.note || "The messages are not recorded."),
      messages.map((message) => messageView(message, hits[at++] ?? [])),
      answerView(trial, n, hits[at++] ?? [], primary),
    );
  });
}

const spansOfHits = (hits) => hits.map(([start, end]) => ({ start, end, kind: "hit" }));

function messageView(message, hits) {
  return h(
    "div.message",
    { class: ["system", "user", "assistant"].includes(message.role) ? `is-${message.role}` : "" },
    h("p.role", {}, inertName(message.role ?? "message", 40)),
    inertBlock(message.content ?? "", spansOfHits(hits)),
  );
}

function scoreSpans(trial, n, primary) {
  return (trial.scores ?? [])
    .map((score, id) => ({ ...score, id }))
    .filter((score) => (score.turn ?? trial.turns.length - 1) === n)
    .map((score) => ({
      start: score.start,
      end: score.end,
      kind: score.scorer === primary ? "evidence primary" : "evidence",
      id: score.id,
      title: `${score.scorer}: ${score.reason ?? ""}`,
    }));
}

/** Segments, and the spans of scorers; that of the scorer that the outcome rests on stands out. */
function answerSpans(trial, n, primary) {
  const segments = (trial.turns[n].segments ?? [])
    .filter((one) => one.kind !== "answer")
    .map((one) => ({
      start: one.start,
      end: one.end,
      kind: "segment",
      segment: one.kind,
      title: SEGMENTS[one.kind] ?? one.kind,
    }));
  return [...segments, ...scoreSpans(trial, n, primary)];
}

function answerView(trial, n, hits, primary) {
  const turn = trial.turns[n];
  const kinds = [...new Set((turn.segments ?? []).map((one) => one.kind))].filter((kind) => kind !== "answer");
  return h(
    "div.message.is-answer",
    {},
    h(
      "p.role",
      {},
      "Answer",
      kinds.map((kind) => h("span.segment-name", { "data-segment": kind }, SEGMENTS[kind] ?? kind)),
    ),
    turn.error ? h("p.error-text", {}, h("strong", {}, "Error. "), inertName(turn.error, 2000)) : null,
    turn.answer === null || turn.answer === undefined
      ? turn.error
        ? null
        : h("p.quiet", {}, "No text came back.")
      : turn.answer === ""
        ? h("p.quiet", {}, "The text is empty.")
        : inertBlock(turn.answer, [...answerSpans(trial, n, primary), ...spansOfHits(hits)]),
  );
}

/** The scores of a trial, the one that the outcome rests on first: value, reason, and a button that leads to the span. */
function scoresView(trial, primary) {
  const scores = (trial.scores ?? [])
    .map((score, id) => ({ score, id }))
    .sort((a, b) => (b.score.scorer === primary) - (a.score.scorer === primary));
  if (!scores.length) return null;
  const quote = (score, id) => {
    const text = trial.turns[score.turn ?? trial.turns.length - 1]?.answer ?? "";
    const range = trueRange(text, score.start, score.end);
    if (!range) return h("span.quiet", {}, "no span");
    return h(
      "button.quote",
      { type: "button", title: "Show it in the answer", onclick: () => toEvidence(id) },
      inertName(text.slice(...range), 70),
    );
  };
  return h(
    "section",
    {},
    h("h3", {}, "What the scorers say"),
    h(
      "div.scroll",
      { tabindex: "0", role: "region", "aria-label": "Scores" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Scorer", "Value", "Reason", "Rests on"].map((words) => h("th", { scope: "col" }, words)),
          ),
        ),
        h(
          "tbody",
          {},
          scores.map(({ score, id }) =>
            h(
              "tr",
              {
                class: score.scorer === primary ? "is-primary" : "",
                title: score.scorer === primary ? "The outcome rests on this scorer" : null,
              },
              h("th", { scope: "row" }, inertName(score.scorer, 60)),
              h("td.n", { title: score.value }, numberText(score.value)),
              h("td", {}, inertName(score.reason ?? "", 200)),
              h("td", {}, quote(score, id)),
            ),
          ),
        ),
      ),
    ),
  );
}

const numberText = (value) =>
  typeof value !== "number"
    ? (value ?? "none")
    : Number.isInteger(value)
      ? String(value)
      : String(Number(value.toPrecision(4)));

function toEvidence(id) {
  const marks = [...document.querySelectorAll("mark.evidence")].filter((mark) =>
    (mark.dataset.scores ?? "").split(" ").includes(String(id)),
  );
  if (marks.length) markCurrent(marks[0]);
}

function markCurrent(mark) {
  document.querySelectorAll("mark.is-current").forEach((one) => one.classList.remove("is-current"));
  mark.classList.add("is-current");
  mark.scrollIntoView({ block: "center" });
}

/** Log-probabilities of the candidates, drawn as shares of their sum. */
function candidatesView(trial) {
  const list = (trial.candidates ?? []).filter((one) => typeof one.logprob === "number");
  if (!list.length) return null;
  const top = Math.max(...list.map((one) => one.logprob));
  const weights = list.map((one) => Math.exp(one.logprob - top)),
    sum = weights.reduce((total, weight) => total + weight, 0);
  return h(
    "section",
    {},
    h("h3", {}, "Candidates"),
    h(
      "table.candidates",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Candidate", "Log-probability", "Share of these"].map((words) => h("th", { scope: "col" }, words)),
        ),
      ),
      h(
        "tbody",
        {},
        list.map((one, n) => {
          const bar = h("span.share", { "aria-hidden": "true" });
          bar.style.width = `${((60 * weights[n]) / sum).toFixed(1)}%`;
          return h(
            "tr",
            { class: one.chosen ? "is-chosen" : "" },
            h("th", { scope: "row" }, inertName(one.text, 80), one.chosen ? h("span.quiet", {}, " chosen") : null),
            h("td.n", {}, one.logprob.toFixed(3)),
            h("td", {}, bar, ` ${((100 * weights[n]) / sum).toFixed(1)}%`),
          );
        }),
      ),
    ),
  );
}

/** Tokens, time and attempts by turn. */
function usageView(trial) {
  const seen = (value, digits) =>
    typeof value === "number" ? (digits === undefined ? count(value) : value.toFixed(digits)) : null;
  const lists = trial.turns.map((turn, n) => {
    const facts = [
      ["Finish", turn.finish],
      ["Tokens in", seen(turn.tokens_in)],
      ["Tokens out", seen(turn.tokens_out)],
      ["Seconds", seen(turn.seconds, 2)],
      ["Attempts", attemptsOf(turn)],
      ["Messages as sent", turn.proof],
    ].filter(([, value]) => value);
    return facts.length
      ? [
          trial.turns.length > 1 ? h("h4", {}, `Turn ${n + 1}`) : null,
          h(
            "dl.place",
            {},
            facts.map(([label, value]) =>
              h("div", {}, h("dt", {}, label), h("dd", {}, value instanceof Node ? value : inertName(value, 60))),
            ),
          ),
        ]
      : null;
  });
  return lists.some(Boolean) ? h("section", {}, h("h3", {}, "Asking"), lists) : null;
}

function attemptsOf(turn) {
  const list = turn.attempts ?? [];
  if (list.length < 2) return list.length ? "1" : null;
  return h(
    "details",
    {},
    h("summary", {}, String(list.length)),
    h(
      "ol",
      {},
      list.map((one) =>
        h(
          "li",
          {},
          inertName(
            [one.status, one.error, typeof one.seconds === "number" ? `${one.seconds.toFixed(2)} s` : ""]
              .filter(Boolean)
              .join(", "),
            200,
          ),
        ),
      ),
    ),
  );
}

/** A block of Markdown that holds the text whatever is in it: its fence is longer than any in the text. */
function fenced(text) {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), (match) => match[0].length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${escaped(text)}\n${fence}`;
}

/** One line of Markdown in which the text cannot be markup. */
const plainMarkdown = (text) =>
  escaped(text)
    .replace(/\s+/g, " ")
    .replace(/[\\`*_{}[\]()<>#!|~&$:@]/g, "\\$&");

/** The trial as Markdown. */
function markdownOf(row, trial) {
  const where = KEY.filter((name) => column(name))
    .map((name) => `${titleOf(name)}: ${plainMarkdown(column(name).text(row))}`)
    .join("; ");
  const parts = [`## ${plainMarkdown(column("item").text(row))}: ${column("outcome").text(row)}`, where];
  trial.turns.forEach((turn, n) => {
    if (trial.turns.length > 1) parts.push(`### Turn ${n + 1}`);
    for (const message of newMessages(trial, n))
      parts.push(`**${plainMarkdown(message.role)}**`, fenced(message.content ?? ""));
    parts.push("**answer**", turn.error ? `Error: ${plainMarkdown(turn.error)}` : fenced(turn.answer ?? ""));
  });
  for (const score of trial.scores ?? [])
    parts.push(`- ${plainMarkdown(score.scorer)} = ${score.value ?? "none"}: ${plainMarkdown(score.reason ?? "")}`);
  if (trial.show) parts.push("```console\n$ " + escaped(trial.show).replace(/\s+/g, " ") + "\n```");
  return parts.join("\n\n") + "\n";
}
