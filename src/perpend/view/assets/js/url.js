// The state of the page is its URL: what is shown can be shared, reloaded and gone back from.

const SCREENS = ["overview", "matrix", "trials", "trial", "compare", "claims", "labels"];
const EMPTY = {
  screen: "overview",
  filters: {},
  ranges: {},
  q: "",
  re: false,
  exact: false,
  claim: "",
  run: "",
  by: "",
  sort: "",
  differ: false,
  t: [],
  of: "",
  a: "",
  b: "",
  only: "",
  reader: "",
  at: "",
  beside: "",
};
let STATE = { ...EMPTY };
/** What is open or typed but is no state of its own. */
const UI = { isFiltersOpen: false, openGroups: new Set(["outcome", "condition", "model"]), places: new Map() };

const TEXTS = ["q", "claim", "run", "by", "sort", "of", "a", "b", "only", "reader", "at", "beside"];
const SWITCHES = ["re", "exact", "differ"];

/** The fragment of a state: '#trials?f.outcome=wrong&q=Paris'. What is as at first is left out. */
function hashOf(state) {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(state.filters))
    for (const value of values) query.append(`f.${name}`, value);
  for (const [name, [low, high]] of Object.entries(state.ranges))
    query.append(`r.${name}`, `${low ?? ""}..${high ?? ""}`);
  for (const name of TEXTS) if (state[name]) query.append(name, state[name]);
  for (const name of SWITCHES) if (state[name]) query.append(name, "1");
  if (state.screen === "trial" || state.screen === "compare") for (const part of state.t) query.append("t", part);
  const words = query.toString();
  return `#${state.screen}${words ? "?" + words : ""}`;
}

/** The state of a fragment. What it does not know is left out; a fragment can be anybody's. */
function stateOf(hash) {
  const [screen, words = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const state = { ...EMPTY, filters: {}, ranges: {}, t: [] };
  if (SCREENS.includes(screen)) state.screen = screen;
  for (const [key, value] of new URLSearchParams(words)) {
    const name = key.slice(2);
    if (key.startsWith("f.")) {
      if (column(name)?.isCoded) (state.filters[name] ??= []).push(value);
    } else if (key.startsWith("r.")) {
      const ends = value.split("..").map((end) => (end === "" || Number.isNaN(Number(end)) ? null : Number(end)));
      if (column(name)?.numbers && ends.length === 2) state.ranges[name] = ends;
    } else if (key === "t") state.t.push(value);
    else if (TEXTS.includes(key)) state[key] = value;
    else if (SWITCHES.includes(key)) state[key] = value === "1";
  }
  return state;
}

/** Change a part of the state. A new screen or trial is a step that 'back' undoes; the rest replaces the last one. */
function go(change, { isStep = "screen" in change || "t" in change } = {}) {
  const next = { ...STATE, ...change };
  const hash = hashOf(next);
  if (hash !== location.hash) history[isStep ? "pushState" : "replaceState"](null, "", hash);
  STATE = next;
  show({ isStep });
}

/** The link to a screen or trial with the filters as they are. */
const linkTo = (change) => hashOf({ ...STATE, ...change });

const linkToTrial = (row) => linkTo({ screen: "trial", t: rowKey(row) });

addEventListener("popstate", () => {
  STATE = stateOf(location.hash);
  show({ isStep: true });
});
