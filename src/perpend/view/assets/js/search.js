// Search in all texts. It runs in a worker: reading and searching leave the page free, and a regular expression that
// never ends is ended with its worker.

const PATIENCE = 1500;

/** What the worker runs, with nothing from outside: texts by chunk, and the hits of the search that was asked for last. */
function searcher(scope) {
  const chunks = new Map();
  let search = null;

  const take = async ({ chunk, first, base64, json }) => {
    let body = json;
    if (base64 !== undefined) {
      const text = base64.trim();
      const bytes = Uint8Array.fromBase64
        ? Uint8Array.fromBase64(text)
        : Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
      body = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
    }
    const texts = body.trials.map(textOf),
      lower = texts.map((text) => text.toLowerCase());
    const ends = new Uint32Array(texts.length);
    let end = 0;
    lower.forEach((text, n) => {
      ends[n] = end += text.length + 1;
    });
    chunks.set(chunk, { first, texts, lower: lower.join("\u0000") + "\u0000", ends, searched: null });
    scope.postMessage({ taken: chunk });
    pump();
  };

  // What was said: the last turn's messages hold the turns before it.
  const textOf = (trial) => {
    const parts = (trial.turns.at(-1)?.messages ?? []).map((message) => message.content);
    for (const turn of trial.turns) parts.push(turn.reasoning, turn.answer, turn.error);
    return parts.filter(Boolean).join("\n");
  };

  let isPumping = false;
  const pump = async () => {
    if (isPumping) return;
    isPumping = true;
    for (;;) {
      const asked = search;
      if (!asked || asked.failed) break;
      const next = [...chunks.values()].find((chunk) => chunk.searched !== asked.id);
      if (!next) break;
      const began = Date.now();
      const rows = [],
        read = [];
      for (const [number, chunk] of chunks) {
        if (chunk.searched === asked.id) continue;
        const hits = asked.pattern ? byPattern(chunk, asked) : byText(chunk, asked);
        chunk.searched = asked.id;
        read.push([number, chunk.texts.length]);
        for (const hit of hits) rows.push(hit);
        if (Date.now() - began > 80) break;
      }
      scope.postMessage({ id: asked.id, rows: Uint32Array.from(rows), read });
      await new Promise((done) => setTimeout(done));
    }
    isPumping = false;
  };

  const byText = (chunk, { text, isExact }) => {
    const hits = [];
    if (isExact) {
      chunk.texts.forEach((one, n) => {
        if (one.includes(text)) hits.push(chunk.first + n);
      });
      return hits;
    }
    let at = 0,
      row = 0;
    for (;;) {
      at = chunk.lower.indexOf(text, at);
      if (at < 0) return hits;
      while (chunk.ends[row] <= at) row++;
      hits.push(chunk.first + row);
      at = chunk.ends[row];
    }
  };

  const byPattern = (chunk, { pattern }) => {
    const hits = [];
    chunk.texts.forEach((one, n) => {
      if (pattern.test(one)) hits.push(chunk.first + n);
    });
    return hits;
  };

  const compiled = (text, isExact, flags = "") => new RegExp(text, (isExact ? "mu" : "imu") + flags);

  const places = ({ texts, text, isExact, ask }) => {
    const pattern = compiled(text, isExact, "g");
    const spans = texts.map((one) => {
      const ranges = [];
      for (const match of one.matchAll(pattern)) {
        if (match[0]) ranges.push([match.index, match.index + match[0].length]);
        if (ranges.length >= 300) break;
      }
      return ranges;
    });
    scope.postMessage({ ask, spans });
  };

  scope.onmessage = ({ data }) => {
    if (data.do === "take") take(data);
    else if (data.do === "ping") scope.postMessage({ pong: true });
    else if (data.do === "places") places(data);
    else if (data.do === "search") {
      const { id, text, isPattern, isExact } = data;
      search = {
        id,
        isExact,
        text: isExact ? text : text.toLowerCase(),
        pattern: isPattern ? compiled(text, isExact) : null,
      };
      pump();
    } else if (data.do === "stop") search = null;
  };
}

const SEARCH = {
  id: 0,
  text: "",
  isPattern: false,
  isExact: false,
  mask: null,
  read: 0,
  hits: 0,
  problem: "",
  worker: null,
  taken: new Map(),
  isFeeding: false,
  changed: () => {},
  questions: new Map(),
  waiting: 0,
  readChunks: new Map(),
};

function startWorker() {
  if (SEARCH.worker) return;
  SEARCH.taken = new Map();
  try {
    const source = new Blob([`(${searcher})(self)`], { type: "text/javascript" });
    SEARCH.worker = new Worker(URL.createObjectURL(source));
  } catch {
    // No worker here: the same code in the page, without regular expressions, which nothing could stop.
    const scope = { postMessage: (data) => heard({ data }), onmessage: null };
    searcher(scope);
    SEARCH.worker = {
      isHere: true,
      postMessage: (data) => setTimeout(() => scope.onmessage({ data })),
      terminate: () => {},
    };
  }
  SEARCH.worker.onmessage = heard;
}

const takers = new Map();

function heard({ data }) {
  SEARCH.waiting = 0;
  if (data.taken !== undefined) takers.get(data.taken)?.();
  else if (data.ask !== undefined) {
    SEARCH.questions.get(data.ask)?.(data.spans);
    SEARCH.questions.delete(data.ask);
  } else if (data.id === SEARCH.id && SEARCH.mask) {
    for (const row of data.rows) {
      if (!SEARCH.mask[row]) SEARCH.hits++;
      SEARCH.mask[row] = 1;
    }
    for (const [chunk, n] of data.read) SEARCH.readChunks.set(chunk, n);
    SEARCH.read = [...SEARCH.readChunks.values()].reduce((sum, n) => sum + n, 0);
    SEARCH.changed();
  }
}

/** Give the worker every chunk that it has not, four at a time. */
async function feed() {
  if (SEARCH.isFeeding) return;
  SEARCH.isFeeding = true;
  startWorker();
  const worker = SEARCH.worker;
  const one = async () => {
    for (;;) {
      const number = nextToFeed();
      if (number < 0 || worker !== SEARCH.worker) return;
      const { key, first } = DATA.index.chunks[number];
      SEARCH.taken.set(number, key ?? "");
      forgetHits(number);
      const packed = await packedChunk(number);
      if (worker !== SEARCH.worker) return;
      const done = new Promise((taken) => takers.set(number, taken));
      worker.postMessage({ do: "take", chunk: number, first, ...packed });
      await done;
    }
  };
  try {
    await Promise.all([one(), one(), one(), one()]);
  } catch (error) {
    SEARCH.problem = error.message;
    SEARCH.changed();
  }
  SEARCH.isFeeding = false;
  // A chunk may have changed while the last ones were read.
  if (worker === SEARCH.worker && !SEARCH.problem && nextToFeed() >= 0) feed();
  else document.documentElement.dataset.texts = nextToFeed() < 0 ? "yes" : "no";
}

/** A chunk is read anew: what was found in it does not count until it has been searched again. */
function forgetHits(number) {
  if (!SEARCH.readChunks.delete(number)) return;
  const { first, n } = DATA.index.chunks[number];
  for (let row = first; row < first + n; row++) {
    SEARCH.hits -= SEARCH.mask[row];
    SEARCH.mask[row] = 0;
  }
  SEARCH.read = [...SEARCH.readChunks.values()].reduce((sum, size) => sum + size, 0);
}

const nextToFeed = () => DATA.index.chunks.findIndex((chunk, n) => SEARCH.taken.get(n) !== (chunk.key ?? ""));

/** Begin a search; an empty text ends it. Hits arrive in SEARCH.mask, and `changed` is called as they do. */
function searchFor(text, isPattern, isExact) {
  if (text === SEARCH.text && isPattern === SEARCH.isPattern && isExact === SEARCH.isExact) return;
  Object.assign(SEARCH, {
    id: SEARCH.id + 1,
    text,
    isPattern,
    isExact,
    read: 0,
    hits: 0,
    problem: "",
    mask: null,
    waiting: 0,
    readChunks: new Map(),
  });
  if (!text) {
    SEARCH.worker?.postMessage({ do: "stop" });
    return;
  }
  SEARCH.mask = new Uint8Array(DATA.n);
  startWorker();
  if (isPattern) {
    SEARCH.problem = patternProblem(text);
    if (SEARCH.problem) return;
  }
  SEARCH.worker.postMessage({ do: "search", id: SEARCH.id, text, isPattern, isExact });
  feed();
  if (isPattern) watch(SEARCH.id);
}

function patternProblem(text) {
  if (SEARCH.worker.isHere)
    return "This browser allows no worker here, so there are no regular expressions. Search for plain text.";
  try {
    new RegExp(text, "imu");
    return "";
  } catch (error) {
    return `Not a regular expression: ${escaped(error.message).replace(/^Invalid regular expression: /, "")}.`;
  }
}

/** While a regular expression is at work: if the worker does not answer for long, end it and say so. */
function watch(id) {
  const timer = setInterval(() => {
    if (id !== SEARCH.id || (SEARCH.read >= DATA.n && !SEARCH.questions.size)) return clearInterval(timer);
    const now = performance.now();
    if (!SEARCH.waiting) {
      SEARCH.waiting = now;
      SEARCH.worker.postMessage({ do: "ping" });
    } else if (now - SEARCH.waiting > PATIENCE) {
      clearInterval(timer);
      endWorker();
    }
  }, 100);
}

function endWorker() {
  SEARCH.worker.terminate();
  SEARCH.worker = null;
  SEARCH.isFeeding = false;
  SEARCH.problem =
    "This expression takes too long, so the search was stopped. Avoid repetition inside repetition, such as (a+)+.";
  for (const answer of SEARCH.questions.values()) answer([]);
  SEARCH.questions.clear();
  SEARCH.changed();
  if (MODE !== "folder") feed();
}

/** A live run has grown: the search continues in what is new. */
function searchAgain() {
  if (SEARCH.mask && SEARCH.mask.length !== DATA.n) {
    const mask = new Uint8Array(DATA.n);
    mask.set(SEARCH.mask.subarray(0, DATA.n));
    SEARCH.mask = mask;
  }
  if (SEARCH.worker) feed();
}

/** The places of the search in each text: [[start, end]…]. Plain text is looked for here, expressions in the worker. */
function placesIn(texts) {
  if (!SEARCH.text || SEARCH.problem) return Promise.resolve(texts.map(() => []));
  if (!SEARCH.isPattern) return Promise.resolve(texts.map(plainPlaces));
  const ask = ++placesIn.last;
  return new Promise((done) => {
    SEARCH.questions.set(ask, (spans) => done(texts.map((_, n) => spans[n] ?? [])));
    SEARCH.worker.postMessage({ do: "places", texts, text: SEARCH.text, isExact: SEARCH.isExact, ask });
    watch(SEARCH.id);
  });
}
placesIn.last = 0;

function plainPlaces(text) {
  const literal = new RegExp(SEARCH.text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), SEARCH.isExact ? "gu" : "giu");
  const ranges = [];
  for (const match of text.matchAll(literal)) {
    ranges.push([match.index, match.index + match[0].length]);
    if (ranges.length >= 300) break;
  }
  return ranges;
}
