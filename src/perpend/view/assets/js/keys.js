// The keyboard: everything that a pointer can do.

const KEYS = [
  ["j  k", "next, previous row or trial"],
  [
    "n  p",
    "in a trial: next, previous highlighted place, then the next trial; in a list: next, previous item; in the matrix: row with flips",
  ],
  ["Enter", "open the row"],
  ["← →", "in the matrix: cell to the left, to the right"],
  ["/", "search in all texts"],
  ["g then o m t c l a", "overview, matrix, trials, compare, labels, claims (assertions)"],
  ["c", "in a trial: copy it as Markdown"],
  ["1 2 3  u  b", "in Labels: the options, undecidable, back"],
  ["d", "dark or light"],
  ["Esc", "leave a field; close this; from a trial back to the list"],
  ["?", "this help"],
];
const SCREEN_KEYS = { o: "overview", m: "matrix", t: "trials", c: "compare", l: "labels", a: "claims" };
let isGoing = false;

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !DATA.index) return;
  const field = event.target.closest?.("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") return escape(field);
  if (field || document.querySelector("dialog[open]")) return;
  if (isGoing) {
    isGoing = false;
    if (SCREEN_KEYS[event.key]) go({ screen: SCREEN_KEYS[event.key] });
    return;
  }
  if (pressed(event.key)) event.preventDefault();
});

function escape(field) {
  if (field) field.blur();
  else if (STATE.screen === "trial" && !document.querySelector("dialog[open]")) go({ screen: "trials" });
}

/** Do what the key means on this screen; whether it means anything. */
function pressed(key) {
  if (key === "?") return (document.getElementById("keys").showModal(), true);
  if (key === "/") return focusSearch();
  if (key === "g") return (isGoing = true);
  if (key === "d") return (switchTheme(), true);
  if (STATE.screen === "labels" && labelKeyPressed(key)) return true;
  const by = { j: 1, k: -1 }[key],
    far = { n: 1, p: -1 }[key];
  if (STATE.screen === "trial") {
    if (by) return (stepTrial(currentRows(), by), true);
    if (far) return (stepMark(currentRows(), far), true);
    if (key === "c") return (document.querySelector("[data-key=copy-markdown]")?.click(), true);
    return false;
  }
  if (!LIST) return false;
  if (by) return (moveList(LIST.cursor + by), true);
  if (far) return (moveList(farRow(far)), true);
  if (STATE.screen === "matrix" && (key === "ArrowLeft" || key === "ArrowRight"))
    return moveCell(key === "ArrowRight" ? 1 : -1);
  return false;
}

function focusSearch() {
  if (document.getElementById("toolbar").hidden) go({ screen: "trials" });
  const field = document.getElementById("search");
  field.focus();
  field.select();
  return true;
}

function moveList(n) {
  LIST.moveTo(n);
  LIST.opened?.(LIST.cursor);
}

/** The next row that n or p goes to: another item, or in the matrix a row with flips. */
function farRow(by) {
  const rows = currentRows(),
    from = LIST.cursor;
  const isThere =
    STATE.screen === "matrix"
      ? (n) => MATRIX.groups[n].flips > 0
      : STATE.screen === "trials"
        ? (n) => from < 0 || column("item").at(rows[n]) !== column("item").at(rows[from])
        : () => true;
  for (let n = from + by; n >= 0 && n < LIST.n; n += by) if (isThere(n)) return n;
  return from;
}

function moveCell(by) {
  const links = [
    ...((document.activeElement?.closest(".row") ?? document.querySelector(".row[aria-current]"))?.querySelectorAll(
      "a",
    ) ?? []),
  ];
  const next = links[links.indexOf(document.activeElement) + by];
  next?.focus();
  return Boolean(next);
}

function labelKeyPressed(key) {
  const { run, give } = LABELS.last ?? {};
  if (!run || !STATE.reader || !document.querySelector(".blind"))
    return key === "b" && LABELS.last ? (stepBack(), true) : false;
  const { options } = run.labelling;
  const option = key === "u" ? options.find((one) => one.value === null) : options[Number(key) - 1];
  if (option) give(option);
  else if (key === "b") stepBack();
  return Boolean(option) || key === "b";
}

function helpDialog() {
  const dialog = document.getElementById("keys");
  fill(
    dialog,
    h("h2", { id: "keys-title" }, "Keys"),
    h(
      "table",
      {},
      h(
        "tbody",
        {},
        KEYS.map(([keys, words]) =>
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              keys.split("  ").map((key) => [h("kbd", {}, key), " "]),
            ),
            h("td", {}, words),
          ),
        ),
      ),
    ),
    button("Close", () => dialog.close()),
  );
}
