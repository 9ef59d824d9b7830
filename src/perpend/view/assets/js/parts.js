// The parts that screens are made of. `h` is the only maker of elements with content; its strings are taken as foreign.

const SVG = "http://www.w3.org/2000/svg";
const SAFE_LINK = /^#/;
const SAFE_IMAGE = /^data:image\/(?:png|svg\+xml);base64,[A-Za-z0-9+/=]*$/;

/**
 * An element: h("a.quiet", {href: "#…", onclick: f}, "text", node, [more]). Strings become inert text; null and false
 * are left out. A link leads to a place in this page, an image is in this page; anything else throws.
 */
function h(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "href" && !SAFE_LINK.test(value)) throw new Error("a link leads to a place in this page");
    else if (name === "src" && !SAFE_IMAGE.test(value)) throw new Error("an image is inline");
    else if (name === "class") element.className = [element.className, value].filter(Boolean).join(" ");
    else if (name === "value") element.value = value;
    else if (name === "checked") element.checked = Boolean(value);
    else if (name === "href" || name === "src") element.setAttribute(name, value);
    else element.setAttribute(name, value === true ? "" : escaped(value));
  }
  put(element, children);
  return element;
}

function put(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    if (child instanceof Node) element.append(child);
    else element.append(...inertNodes(String(child)));
  }
  return element;
}

/** Replace what an element holds. */
function fill(element, ...children) {
  element.textContent = "";
  return put(element, children);
}

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, escaped(value));
  element.append(...children);
  return element;
}

const count = (n) => n.toLocaleString("en");
const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

/** The share as a percentage of a denominator that is not 0; otherwise a dash. */
const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(whole < 1000 ? 0 : 1)}%` : "–");

function button(label, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, label);
}

const OUTCOMES = [
  "right",
  "wrong",
  "planted",
  "not planted",
  "refused",
  "no answer",
  "error",
  "unscored",
  "pending",
  "not due",
];
/** The outcomes before this place are of trials that were asked. */
const ASKED = OUTCOMES.indexOf("pending");
const UNSCORED = OUTCOMES.indexOf("unscored");
const outcomePlace = (name) => (OUTCOMES.includes(name) ? OUTCOMES.indexOf(name) : UNSCORED);
const GLYPHS = {
  right: "✓",
  wrong: "✗",
  planted: "◆",
  "not planted": "◇",
  refused: "⊘",
  "no answer": "–",
  error: "!",
  unscored: "?",
  pending: "…",
  "not due": "·",
};
const MEANINGS = {
  right: "the answer is the expected one",
  wrong: "the answer is another one than expected",
  planted: "the answer is the wrong one that was planted",
  "not planted": "an opinion, and not the one that was planted",
  refused: "the model declined to answer",
  "no answer": "the text reaches no answer that can be read",
  error: "the request failed, so there is no text",
  unscored: "no scorer says right or wrong",
  pending: "not asked yet",
  "not due": "the run stopped before it was asked",
};
const outcomeClass = (outcome) => "o-" + (OUTCOMES.includes(outcome) ? outcome.replace(" ", "-") : "unscored");

/** The outcome as a coloured sign with its word; the word may be for screen readers only. */
function badge(outcome, { word = true } = {}) {
  const name = outcome ?? "unscored";
  return h(
    "span.badge",
    { class: outcomeClass(name), title: MEANINGS[name] },
    h("span.glyph", { "aria-hidden": "true" }, GLYPHS[name] ?? "?"),
    h(word ? "span" : "span.hidden", {}, name),
  );
}

/** A bar of shares by outcome, `counts` in the order of OUTCOMES. Its label says the counts. */
function outcomeBar(counts) {
  const total = counts.reduce((sum, n) => sum + n, 0);
  const words = OUTCOMES.map((name, n) => (counts[n] ? `${count(counts[n])} ${name}` : ""))
    .filter(Boolean)
    .join(", ");
  const bar = h("span.bar", { role: "img", "aria-label": words || "no trials", title: words });
  OUTCOMES.forEach((name, n) => {
    if (!counts[n]) return;
    const part = h("span", { class: outcomeClass(name) });
    part.style.flexGrow = String(counts[n] / total);
    bar.append(part);
  });
  return bar;
}

/** A short message for everybody, screen readers included. It goes away by itself. */
function announce(text) {
  const place = document.getElementById("message");
  fill(place, text);
  place.classList.add("is-shown");
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => place.classList.remove("is-shown"), 4000);
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // On file:// some browsers refuse the clipboard: a selected text field works everywhere.
    const field = h("textarea.hidden", { "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  announce(`Copied ${what}.`);
}

/** A select with its label. `options`: [[value, text]…]. */
function choice(label, options, value, onchange) {
  const id = `choice-${label.toLowerCase().replace(/\W+/g, "-")}`;
  const select = h("select", { id, "data-key": id, onchange: (event) => onchange(event.target.value) });
  for (const [key, text] of options) select.append(h("option", { value: key }, escaped(shortened(String(text), 36))));
  select.value = value;
  return h("span.choice", {}, h("label", { for: id }, label), select);
}

function toggle(label, isOn, onchange, title = "") {
  return h(
    "label.toggle",
    { title },
    h("input", {
      type: "checkbox",
      "data-key": `toggle ${label}`,
      checked: isOn,
      onchange: (event) => onchange(event.target.checked),
    }),
    h("span", {}, label),
  );
}

/** Text offered as a file. */
function download(name, text, type = "application/x-ndjson") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
