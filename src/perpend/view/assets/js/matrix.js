// Matrix: items by condition, model or run. A cell is what came back there; a row can be a list of flips.

/** The columns that a matrix can have, with what its rows then share. */
const matrixColumns = () =>
  ["condition", "model", "run", "sampling"].filter((name) => varied(name) > 1 && column(name).isCoded);

/**
 * The matrix of these rows: groups of one run and item, with the outcomes in each cell. Rows are sorted by run and item,
 * so a group is a range of `rows`. Flips: cells whose most frequent outcome is not that of the reference column.
 */
function matrixOf(rows, by) {
  const one = column(by),
    outcome = column("outcome"),
    run = column("run"),
    item = column("item");
  const place = outcome.labels.map(outcomePlace);
  const used = [...countsOf(one, rows)].map((n, code) => (n ? code : -1)).filter((code) => code >= 0);
  const slot = new Int32Array(one.labels.length).fill(-1);
  used.forEach((code, n) => {
    slot[code] = n;
  });
  const groups = [];
  const totals = used.map(() => new Array(OUTCOMES.length).fill(0));
  const isRunColumn = by === "run";
  const sameItem = item.isCoded ? (a, b) => item.codes[a] === item.codes[b] : (a, b) => item.at(a) === item.at(b);
  const byItem = isRunColumn ? sortedByItem(rows, item) : rows;
  for (let n = 0; n < byItem.length; n++) {
    const row = byItem[n];
    const last = groups.at(-1);
    const isSame =
      last && sameItem(byItem[last.from], row) && (isRunColumn || run.codes[byItem[last.from]] === run.codes[row]);
    const group = isSame
      ? last
      : { from: n, to: n, seen: 0, cells: new Uint16Array(used.length * OUTCOMES.length), flips: 0 };
    if (!isSame) groups.push(group);
    group.to = n + 1;
    const kind = place[outcome.codes[row]],
      at = slot[one.codes[row]];
    if (kind < ASKED) group.seen |= 1 << kind;
    group.cells[at * OUTCOMES.length + kind]++;
    totals[at][kind]++;
  }
  const reference = Math.max(
    0,
    used.findIndex((code) => one.labels[code] === "control"),
  );
  for (const group of groups) group.flips = flipsOf(group.cells, used.length, reference);
  return { by, rows: byItem, columns: used, groups, totals, reference };
}

function sortedByItem(rows, item) {
  const key = item.isCoded ? item.codes : item.numbers;
  return Uint32Array.from(rows).sort((a, b) => key[a] - key[b] || a - b);
}

/** The most frequent outcome of a cell, of the first `kinds` ones; -1 where there is none. */
function commonest(cells, at, kinds = OUTCOMES.length) {
  let best = -1,
    most = 0;
  for (let kind = 0; kind < kinds; kind++) {
    const n = cells[at * OUTCOMES.length + kind];
    if (n > most) {
      most = n;
      best = kind;
    }
  }
  return best;
}

/** How many cells differ from the reference. A cell in which nothing was asked does not count. */
function flipsOf(cells, columns, reference) {
  const expected = commonest(cells, reference, ASKED);
  if (expected < 0) return 0;
  let flips = 0;
  for (let at = 0; at < columns; at++) {
    const own = commonest(cells, at, ASKED);
    if (own >= 0 && own !== expected) flips++;
  }
  return flips;
}

/** The name of a column, which may break after the signs that join words. */
function headName(text) {
  const parts = shortened(text, 24).split(/(?<=[_/.:-])/);
  return h(
    "span.name",
    {},
    parts.map((part, n) => [n ? h("wbr") : null, part]),
  );
}

function matrixScreen(rows) {
  const possible = matrixColumns();
  const by = possible.includes(STATE.by) ? STATE.by : (possible[0] ?? "condition");
  const matrix = MATRIX?.rows === rows && MATRIX.matrix.by === by ? MATRIX.matrix : matrixOf(rows, by);
  const one = column(by),
    item = column("item");
  const nameAt = (at) => one.labels[matrix.columns[at]];
  let groups = STATE.differ ? matrix.groups.filter((group) => group.seen & (group.seen - 1)) : matrix.groups;
  if (STATE.sort === "flips") groups = groups.toSorted((a, b) => b.flips - a.flips || a.from - b.from);
  MATRIX = { matrix, groups, rows };
  const template = `minmax(7rem, 16rem) repeat(${matrix.columns.length}, minmax(5.5rem, 1fr)) 3.5rem`;
  const head = h(
    "div.row",
    { role: "row" },
    h("div.cell.first", { role: "columnheader" }, varied("run") > 1 && by !== "run" ? "Item, by run" : "Item"),
    matrix.columns.map((code, at) =>
      h(
        "div.cell",
        { role: "columnheader", title: escaped(nameAt(at)) },
        headName(nameAt(at)),
        outcomeBar(matrix.totals[at]),
      ),
    ),
    h(
      "div.cell.flips",
      { role: "columnheader", title: `Columns that differ from ${escaped(nameAt(matrix.reference) ?? "")}` },
      "Flips",
    ),
  );
  head.style.gridTemplateColumns = template;
  LIST = new VirtualList({
    label: `Items by ${by}`,
    columns: matrix.columns.length + 2,
    head,
    height: 34,
    empty: STATE.differ ? "No row differs among the trials that pass these filters." : undefined,
    row: (n) => {
      const group = groups[n];
      const line = h(
        "div.row",
        {},
        h("div.cell.first", { role: "rowheader" }, inertName(item.text(matrix.rows[group.from]), 60)),
        matrix.columns.map((_, at) => matrixCell(matrix, group, at)),
        h("div.cell.flips", { role: "cell" }, group.flips || ""),
      );
      line.style.gridTemplateColumns = template;
      return line;
    },
  });
  return h(
    "section.matrix",
    { "aria-label": "Matrix" },
    h(
      "div.tools",
      {},
      possible.length > 1
        ? choice(
            "Columns",
            possible.map((name) => [name, titleOf(name)]),
            by,
            (value) => go({ by: value }),
          )
        : null,
      choice(
        "Sort",
        [
          ["", "as asked"],
          ["flips", "most flips first"],
        ],
        STATE.sort === "flips" ? "flips" : "",
        (value) => go({ sort: value }),
      ),
      toggle("Only rows that differ", STATE.differ, (isOn) => go({ differ: isOn })),
      h(
        "p.legend",
        {},
        OUTCOMES.filter((_, kind) => matrix.totals.some((counts) => counts[kind])).map((name) => badge(name)),
      ),
    ),
    h(
      "p.count",
      { role: "status" },
      `${plural(groups.length, "row")} of ${count(matrix.groups.length)}, ${plural(rows.length, "trial")}${matrix.columns.length > 1 ? `. A flip: a column whose most frequent outcome is not that of ${escaped(shortened(nameAt(matrix.reference), 40))}` : ""}.`,
    ),
    LIST.scroller,
  );
}

let MATRIX = null;

/** The trials of a cell, in their order. */
function rowsOfCell(matrix, group, at) {
  const { codes } = column(matrix.by);
  const rows = [];
  for (let n = group.from; n < group.to; n++)
    if (codes[matrix.rows[n]] === matrix.columns[at]) rows.push(matrix.rows[n]);
  return rows;
}

function matrixCell(matrix, group, at) {
  const own = group.cells.subarray(at * OUTCOMES.length, (at + 1) * OUTCOMES.length);
  const total = own.reduce((sum, n) => sum + n, 0);
  if (!total) return h("div.cell", { role: "cell" }, h("span.hidden", {}, "not asked"));
  const rows = rowsOfCell(matrix, group, at);
  const words = OUTCOMES.map((name, kind) => (own[kind] ? (total > 1 ? `${own[kind]} ${name}` : name) : ""))
    .filter(Boolean)
    .join(", ");
  const kinds = OUTCOMES.map((_, kind) => kind).filter((kind) => own[kind]);
  const sign = (kind) =>
    h("span", { class: outcomeClass(OUTCOMES[kind]) }, own[kind], h("span.glyph", {}, GLYPHS[OUTCOMES[kind]]));
  const content =
    total === 1
      ? badge(OUTCOMES[commonest(group.cells, at)])
      : [
          outcomeBar([...own]),
          h("span.signs", {}, kinds.length > 2 && matrix.columns.length > 5 ? count(total) : kinds.map(sign)),
        ];
  const label = `${column("item").text(rows[0])}, ${column(matrix.by).text(rows[0])}: ${words}`;
  return h(
    "div.cell",
    { role: "cell" },
    h(
      "a.cell-link",
      { href: linkToTrial(rows[0]), title: words },
      h("span.hidden", {}, label),
      h("span.look", { "aria-hidden": "true" }, content),
    ),
  );
}
