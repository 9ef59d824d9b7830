"use strict";
// Foreign text made inert. Everything that the page shows goes through here: `parts.js` has no other way to set a text.

// Controls but line feed and tab, format characters (bidirectional, zero width, tags), private and unassigned ones,
// separators of lines, lone surrogates, letters that show nothing, and more than four marks on one letter.
const UNSEEN =
  /[\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u2800\u3164\ufe00-\ufe0e\uffa0\u{e0100}-\u{e01ef}]|(?<=\p{M}{4})\p{M}+/gu;
const PLAIN = /^[\n\t -~]*$/;
const CONTROLS =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(
    " ",
  );
const NAMES = {
  0x7f: "DEL",
  0xad: "SHY",
  0x200b: "ZWSP",
  0x200c: "ZWNJ",
  0x200d: "ZWJ",
  0x200e: "LRM",
  0x200f: "RLM",
  0x2028: "LSEP",
  0x2029: "PSEP",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2060: "WJ",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0xfeff: "BOM",
};

/** What a mark says: the short name of a character that cannot be seen, else its number. */
function nameOf(char) {
  const code = char.codePointAt(0);
  return CONTROLS[code] ?? NAMES[code] ?? "U+" + code.toString(16).toUpperCase().padStart(4, "0");
}

/** The text as one string that holds nothing unseen: for attributes, the clipboard and names in the URL's shadow. */
function escaped(text) {
  const string = String(text);
  if (PLAIN.test(string)) return string;
  return string.replace(UNSEEN, (match) => Array.from(match, (char) => `<${nameOf(char)}>`).join(""));
}

/** Nodes for the text: what cannot be seen becomes a visible mark, and a run of the same character one mark. */
function inertNodes(text) {
  if (PLAIN.test(text)) return text === "" ? [] : [document.createTextNode(text)];
  const nodes = [];
  let at = 0,
    last = null;
  const plain = (end) => {
    if (end > at) {
      nodes.push(document.createTextNode(text.slice(at, end)));
      last = null;
    }
  };
  for (const match of text.matchAll(UNSEEN)) {
    plain(match.index);
    for (const char of match[0].length > 2 ? [match[0][0]] : match[0]) {
      const count = match[0].length > 2 ? match[0].length : 1;
      if (last && last.char === char) {
        last.count += count;
        last.node.textContent = `${nameOf(char)} ×${last.count}`;
        continue;
      }
      const node = document.createElement("span");
      node.className = "mark";
      node.textContent = count > 1 ? `${nameOf(char)} ×${count}` : nameOf(char);
      nodes.push(node);
      last = { char, node, count };
    }
    at = match.index + match[0].length;
  }
  plain(text.length);
  return nodes;
}

/** At most so many characters: of a sentence the beginning, of a name also its end, where names differ. */
function shortened(text, longest) {
  if (text.length <= longest) return text;
  const tail = longest > 60 ? 0 : Math.floor(longest * 0.45);
  // No cut between the halves of one character.
  const whole = (at) =>
    /[\udc00-\udfff]/.test(text[at] ?? "") && /[\ud800-\udbff]/.test(text[at - 1] ?? "") ? at + 1 : at;
  return `${text.slice(0, whole(longest - tail))}…${tail ? text.slice(whole(text.length - tail)) : ""}`;
}

/** A foreign name in one line: a line feed is a mark, and a long one is shortened; its title has more of it. */
function inertName(text, longest = 160) {
  const whole = String(text);
  const short = shortened(whole, longest);
  const name = document.createElement("span");
  name.className = "name";
  short.split(/[\n\t]/).forEach((part, n) => {
    if (n) {
      const mark = document.createElement("span");
      mark.className = "mark";
      mark.textContent = "↵";
      name.append(mark);
    }
    name.append(...inertNodes(part));
  });
  if (short !== whole) name.title = escaped(whole.slice(0, 600));
  return name;
}

const CLIP = 6000,
  CLIP_LINES = 120,
  AROUND = 400,
  PORTION = 100000;

/** Ranges of the text that are shown at first: its beginning, and the surroundings of every range that is needed. */
function shownAtFirst(text, needed) {
  if (text.length <= CLIP * 1.2 && text.split("\n", CLIP_LINES + 1).length <= CLIP_LINES) return [[0, text.length]];
  let end = Math.min(CLIP, text.length);
  for (let n = 0, at = -1; n < CLIP_LINES; n++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0 || at >= end) break;
    if (n === CLIP_LINES - 1) end = at;
  }
  const windows = [[0, end]];
  for (const [from, to] of needed.slice(0, 40)) {
    windows.push([Math.max(0, from - AROUND), Math.min(text.length, Math.min(to, from + CLIP) + AROUND)]);
  }
  return merged(windows);
}

function merged(windows) {
  const sorted = windows.toSorted((a, b) => a[0] - b[0]);
  const joined = [];
  for (const [from, to] of sorted) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

/** A range of a text that is a range: within it, whole numbers, not empty. What is none is left out. */
function trueRange(text, start, end) {
  if (!Number.isInteger(start) || !Number.isInteger(end)) return null;
  const from = Math.max(0, start),
    to = Math.min(text.length, end);
  return from < to ? [from, to] : null;
}

/**
 * A block of foreign text. `spans`: [{start, end, kind, title, id}] to highlight; they may overlap. A long text is
 * clipped, and a button in each gap shows more of it.
 */
function inertBlock(text, spans = []) {
  const block = document.createElement("div");
  block.className = "foreign";
  const whole = String(text ?? "");
  const ranges = [];
  for (const span of spans) {
    const range = trueRange(whole, span.start, span.end);
    if (range) ranges.push({ ...span, start: range[0], end: range[1] });
  }
  const needed = ranges.filter((span) => span.kind !== "segment").map((span) => [span.start, span.end]);
  draw(shownAtFirst(whole, needed));
  return block;

  function draw(windows) {
    block.textContent = "";
    let at = 0;
    for (const [from, to] of windows) {
      if (from > at) block.append(gap(at, from, windows));
      block.append(...pieces(whole, from, to, ranges));
      at = to;
    }
    if (at < whole.length) block.append(gap(at, whole.length, windows));
  }

  function gap(from, to, windows) {
    const button = document.createElement("button");
    const size = to - from,
      more = Math.min(size, PORTION);
    button.type = "button";
    button.className = "gap";
    button.textContent =
      more === size
        ? `Show all: ${size.toLocaleString("en")} more characters`
        : `Show ${more.toLocaleString("en")} of ${size.toLocaleString("en")} more characters`;
    button.addEventListener("click", () => draw(merged([...windows, [from, from + more]])));
    return button;
  }
}

/** The nodes of a part of the text, split where a span begins or ends. */
function pieces(text, from, to, ranges) {
  const here = ranges.filter((span) => span.start < to && span.end > from);
  if (!here.length) return inertNodes(text.slice(from, to));
  const cuts = new Set([from, to]);
  for (const span of here) {
    cuts.add(Math.max(from, span.start));
    cuts.add(Math.min(to, span.end));
  }
  const places = [...cuts].sort((a, b) => a - b);
  const nodes = [];
  for (let n = 0; n + 1 < places.length; n++) {
    const inside = here.filter((span) => span.start <= places[n] && span.end >= places[n + 1]);
    const content = inertNodes(text.slice(places[n], places[n + 1]));
    if (!inside.length) {
      nodes.push(...content);
      continue;
    }
    const strong = inside.filter((span) => span.kind !== "segment");
    const node = document.createElement(strong.length ? "mark" : "span");
    node.className = [...new Set(inside.map((span) => span.kind))].join(" ");
    const segment = inside.find((span) => span.segment);
    if (segment) node.dataset.segment = escaped(segment.segment);
    node.title = escaped(
      inside
        .map((span) => span.title)
        .filter(Boolean)
        .join("; "),
    );
    const scores = strong.map((span) => span.id).filter((id) => id !== undefined);
    if (scores.length) node.dataset.scores = scores.join(" ");
    node.append(...content);
    nodes.push(node);
  }
  return nodes;
}
