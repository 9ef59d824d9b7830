// The data of the page (perpend-view@1): columns as typed arrays, and the texts of the trials in chunks, read on demand.

const MODE = document.documentElement.dataset.mode;
const KEY = ["run", "item", "condition", "model", "sampling", "repeat"];
const FEW = 24;

/** Bytes of a base64 text. */
function bytesOf(base64) {
  const text = base64.trim();
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text),
    bytes = new Uint8Array(raw.length);
  for (let n = 0; n < raw.length; n++) bytes[n] = raw.charCodeAt(n);
  return bytes;
}

/** The JSON value in base64 of gzip. */
async function unpacked(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** A column: `codes` into `values` by row, where there are few values; else numbers by row (NaN: none). */
class Column {
  constructor(name, body) {
    this.name = name;
    if (body.kind === "coded") {
      const bytes = bytesOf(body.codes);
      const type = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[body.width];
      this.values = body.values;
      this.codes = new type(bytes.buffer, bytes.byteOffset, bytes.byteLength / body.width);
      // A URL cannot hold half a character, so that a name with one in it could not be linked to.
      this.labels = body.values.map((value) => (value === null ? "none" : String(value).toWellFormed()));
    } else {
      const bytes = bytesOf(body.data);
      this.numbers = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
      this.#code();
    }
  }

  /** Numbers of few values are coded as well, so that they can be ticked. */
  #code() {
    const seen = new Map();
    for (const value of this.numbers) {
      const key = Number.isNaN(value) ? null : value;
      if (!seen.has(key)) seen.set(key, 0);
      if (seen.size > FEW) return;
    }
    this.values = [...seen.keys()].sort((a, b) => (a === null) - (b === null) || a - b);
    this.values.forEach((value, n) => seen.set(value, n));
    this.codes = Uint8Array.from(this.numbers, (value) => seen.get(Number.isNaN(value) ? null : value));
    this.labels = this.values.map((value) => (value === null ? "none" : String(value)));
  }

  get isCoded() {
    return this.codes !== undefined;
  }

  /** How many rows of the whole page have each value. */
  get total() {
    if (!this.totals) {
      this.totals = new Uint32Array(this.labels.length);
      for (const code of this.codes) this.totals[code]++;
    }
    return this.totals;
  }

  /** The value of a row: a string or number, null where there is none. */
  at(row) {
    if (this.numbers) return Number.isNaN(this.numbers[row]) ? null : this.numbers[row];
    return this.values[this.codes[row]] ?? null;
  }

  /** The value of a row in words. */
  text(row) {
    if (this.isCoded) return this.labels[this.codes[row]] ?? "none";
    const value = this.at(row);
    return value === null ? "none" : String(value);
  }
}

const DATA = { index: null, n: 0, columns: new Map(), runs: [], version: null };
const column = (name) => DATA.columns.get(name);

/** Take in an index, at first or after a run has grown. */
function takeIndex(index) {
  if (index.format !== "perpend-view@1")
    throw new Error(`The data is ${escaped(index.format)}; this page reads perpend-view@1.`);
  const before = DATA.index;
  DATA.index = index;
  DATA.n = index.n;
  DATA.runs = index.runs;
  DATA.version = index.version;
  DATA.columns = new Map(Object.entries(index.columns).map(([name, body]) => [name, new Column(name, body)]));
  if (before) {
    index.chunks.forEach((chunk, n) => {
      const old = before.chunks[n];
      if (!old || old.key !== chunk.key || old.n !== chunk.n || old.first !== chunk.first) CHUNKS.delete(n);
    });
  }
}

async function loadIndex() {
  const inline = document.getElementById("index").textContent;
  if (inline.trim()) return unpacked(inline);
  return fetchJSON("api/index");
}

/** JSON from the server of this page; null where it says that nothing is new. */
async function fetchJSON(path, options = {}) {
  const response = await fetch(path, { cache: "no-store", ...options });
  if (response.status === 204) return null;
  const body = await response.json();
  if (!response.ok) throw new Error(body.error ?? `The server answered ${response.status}.`);
  return body;
}

const CHUNKS = new Map();
const CHUNKS_KEPT = 24;
const arriving = new Map(),
  loading = new Map();

/** What a page of the folder form calls. */
function perpendChunk(number, base64) {
  arriving.get(number)?.(base64);
}

/** The element with that id, once the parser has come to it. */
async function parsedElement(id) {
  const element = document.getElementById(id);
  if (element && (element.nextSibling || document.readyState !== "loading")) return element;
  if (document.readyState === "loading") {
    await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
  }
  return document.getElementById(id);
}

/** A chunk as it is stored: base64 of gzip (file, folder) or JSON (live). */
async function packedChunk(number) {
  const { at } = DATA.index.chunks[number];
  if (MODE === "file") {
    const element = await parsedElement(at);
    if (!element) throw new Error(`This file is cut off: ${at} is missing. Write it again.`);
    return { base64: element.textContent };
  }
  if (MODE === "live") return { json: await fetchJSON(at) };
  if (!loading.has(number))
    loading.set(
      number,
      loadedPage(number, at).finally(() => loading.delete(number)),
    );
  return loading.get(number);
}

/** A page of the folder form, by a script element: a file may load scripts, and nothing else, from beside it. */
function loadedPage(number, at) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    const ended = (call) => (value) => {
      arriving.delete(number);
      script.remove();
      call(value);
    };
    arriving.set(
      number,
      ended((base64) => done({ base64 })),
    );
    script.onerror = ended(() => failed(new Error(`${at} is missing. Keep the page and its folder 'data' together.`)));
    script.src = at;
    document.head.append(script);
  });
}

async function loadChunk(number) {
  const packed = await packedChunk(number);
  return packed.json ?? unpacked(packed.base64);
}

/** The chunk, from memory where it was read lately. */
function chunkAt(number) {
  let chunk = CHUNKS.get(number);
  if (chunk) CHUNKS.delete(number);
  else {
    chunk = loadChunk(number);
    chunk.then(
      (body) => {
        chunk.body = body;
      },
      () => CHUNKS.delete(number),
    );
  }
  CHUNKS.set(number, chunk);
  if (CHUNKS.size > CHUNKS_KEPT) CHUNKS.delete(CHUNKS.keys().next().value);
  return chunk;
}

function chunkOf(row) {
  const { chunks } = DATA.index;
  let low = 0,
    high = chunks.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (chunks[middle].first <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The texts of one trial. */
async function trialAt(row) {
  const number = chunkOf(row);
  const body = await chunkAt(number);
  return body.trials[row - DATA.index.chunks[number].first];
}

/** The texts of one trial if they are in memory, else null. */
function trialNow(row) {
  const number = chunkOf(row);
  return CHUNKS.get(number)?.body?.trials[row - DATA.index.chunks[number].first] ?? null;
}

/** How many different values of a column there are among the rows of this page. */
function varied(name) {
  const one = column(name);
  return one ? (one.values?.length ?? FEW + 1) : 0;
}

/** A row as the URL names it: its key, blank where every row has the same. A grown run keeps it. */
function rowKey(row) {
  return KEY.map((name) => (varied(name) > 1 ? column(name).text(row) : ""));
}

/** The row of a key; -1 where no row fits. */
function rowOf(key) {
  const tests = [];
  for (const [n, name] of KEY.entries()) {
    if (!key[n] || !column(name)) continue;
    const one = column(name);
    if (one.isCoded) {
      const code = one.labels.indexOf(key[n]);
      if (code < 0) return -1;
      tests.push((row) => one.codes[row] === code);
    } else tests.push((row) => one.text(row) === key[n]);
  }
  for (let row = 0; row < DATA.n; row++) if (tests.every((test) => test(row))) return row;
  return -1;
}

/** Rows of the same run and item as this one; rows are sorted by run and item. */
function rowsOfItem(row) {
  const run = column("run").codes,
    item = column("item");
  const same = (other) =>
    run[other] === run[row] && (item.isCoded ? item.codes[other] === item.codes[row] : item.at(other) === item.at(row));
  let first = row,
    last = row;
  while (first > 0 && same(first - 1)) first--;
  while (last + 1 < DATA.n && same(last + 1)) last++;
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
}
