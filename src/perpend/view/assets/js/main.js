// The page: its head, its toolbar, the screen of the moment, and the run that may grow.

const SHOWN = {
  overview: overviewScreen,
  matrix: matrixScreen,
  trials: trialsScreen,
  trial: trialScreen,
  compare: compareScreen,
  claims: claimsScreen,
  labels: labelsScreen,
};
const TABS = [
  ["overview", "Overview"],
  ["matrix", "Matrix"],
  ["trials", "Trials"],
  ["compare", "Compare"],
  ["claims", "Claims"],
  ["labels", "Labels"],
];
const WITH_FILTERS = ["matrix", "trials", "compare"];
const cached = { key: "", rows: null };
let shownScreen = "",
  shownQuery = "";

/** The rows that pass the filters and the search as far as it has come. */
function currentRows() {
  const key = JSON.stringify([
    STATE.filters,
    STATE.ranges,
    STATE.claim,
    SEARCH.id,
    SEARCH.hits,
    SEARCH.problem,
    DATA.version,
  ]);
  if (cached.key !== key) Object.assign(cached, { key, rows: rowsOf(STATE) });
  return cached.rows;
}

/** Draw the screen of the state. `isData`: the data has changed, and what is being read stays in place. */
function show({ isStep = false, isData = false } = {}) {
  searchFor(STATE.q, STATE.re, STATE.exact);
  const main = document.getElementById("main");
  const focused = document.activeElement?.dataset?.key;
  const left = shownScreen === "trial" ? Number(document.querySelector(".trial")?.dataset.row ?? -1) : -1;
  if (LIST)
    UI.places.set(shownScreen, {
      query: shownQuery,
      top: LIST.scroller.scrollTop,
      left: LIST.scroller.scrollLeft,
      cursor: LIST.cursor,
    });
  LIST = null;
  nav();
  const rows = currentRows();
  toolbar(rows);
  const hasFilters = WITH_FILTERS.includes(STATE.screen);
  const content = SHOWN[STATE.screen](rows);
  fill(main, hasFilters ? h("div.with-filters", {}, filterPanel(STATE, rows), h("div.content", {}, content)) : content);
  document.body.dataset.screen = STATE.screen;
  shownQuery = queryOf(STATE);
  if (LIST) startList(rows, isData, STATE.screen === "trials" ? rows.indexOf(left) : -1);
  shownScreen = STATE.screen;
  if (focused)
    [...document.querySelectorAll("[data-key]")]
      .find((element) => element.dataset.key === focused)
      ?.focus({ preventScroll: true });
  else if (isStep) {
    window.scrollTo(0, 0);
    if (!isData) main.focus({ preventScroll: true });
  }
  document.title = `${escaped(DATA.index.title)}: ${STATE.screen}`;
}

const queryOf = ({ filters, ranges, claim, q, re, exact, by, sort, differ }) =>
  JSON.stringify([filters, ranges, claim, q, re, exact, by, sort, differ]);

/** Scroll the list to where it was when it last showed the same, and to the trial that was open. */
function startList(rows, isData, left) {
  const list = LIST,
    length = { trials: rows.length, matrix: MATRIX?.groups.length }[STATE.screen] ?? list.total;
  const before = UI.places.get(STATE.screen);
  const isKept = before?.query === shownQuery;
  const cursor = list.start ?? (left >= 0 ? left : isKept ? before.cursor : -1);
  list.set(length, cursor, isKept ? before.top : 0, isKept ? before.left : 0);
  if (cursor >= 0 && !isData) list.reveal();
}

function nav() {
  const current = STATE.screen === "trial" ? "trials" : STATE.screen;
  fill(
    document.getElementById("nav"),
    h(
      "ul",
      {},
      TABS.map(([name, words]) =>
        h(
          "li",
          {},
          h("a", { href: linkTo({ screen: name }), "aria-current": name === current ? "page" : null }, words),
        ),
      ),
    ),
  );
}

/** The line above a list: the search, what it has read, and the filters that are on. */
function toolbar(rows) {
  const bar = document.getElementById("toolbar");
  bar.hidden = !WITH_FILTERS.includes(STATE.screen);
  const field = document.getElementById("search");
  if (document.activeElement !== field) field.value = STATE.q;
  document.getElementById("pattern").checked = STATE.re;
  document.getElementById("exact").checked = STATE.exact;
  fill(document.getElementById("search-status"), searchStatus());
  fill(document.getElementById("chips"), activeFilters(STATE));
  document.documentElement.dataset.rows = rows.length;
  document.documentElement.dataset.searched = !SEARCH.text || SEARCH.problem || SEARCH.read >= DATA.n ? "yes" : "no";
}

function searchStatus() {
  if (SEARCH.problem) return h("span.problem", {}, SEARCH.problem);
  if (!SEARCH.text)
    return MODE === "folder" && SEARCH.taken.size < DATA.index.chunks.length
      ? h("span.quiet", {}, `A search reads all ${count(DATA.index.chunks.length)} pages of data; press Enter.`)
      : null;
  if (SEARCH.read < DATA.n)
    return h(
      "span",
      {},
      `Read ${count(SEARCH.read)} of ${plural(DATA.n, "text")}: ${plural(SEARCH.hits, "match", "matches")} so far.`,
    );
  return h("span.quiet", {}, `${plural(SEARCH.hits, "trial")} with a match.`);
}

function wireToolbar() {
  const field = document.getElementById("search");
  let timer = null;
  const search = () => {
    clearTimeout(timer);
    if (field.value === STATE.q) return;
    // The rows before stay until the first hits are there: an empty list between them would be drawn for nothing.
    if (!field.value || STATE.re) return go({ q: field.value });
    STATE = { ...STATE, q: field.value };
    history.replaceState(null, "", hashOf(STATE));
    document.documentElement.dataset.searched = "no";
    searchFor(STATE.q, STATE.re, STATE.exact);
    SEARCH.changed();
  };
  const isAtOnce = () => MODE !== "folder" || SEARCH.taken.size >= DATA.index.chunks.length;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    if (isAtOnce() || !field.value) timer = setTimeout(search, 60);
  });
  field.addEventListener("change", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") search();
  });
  document.getElementById("pattern").addEventListener("change", (event) => go({ re: event.target.checked }));
  document.getElementById("exact").addEventListener("change", (event) => go({ exact: event.target.checked }));
  // A search in progress is shown a few times per second, its end at once.
  let due = null;
  const again = () => {
    due = null;
    if (STATE.screen !== "trial") show({ isData: true });
  };
  SEARCH.changed = () => {
    const isDone = SEARCH.read >= DATA.n || SEARCH.problem;
    if (isDone) clearTimeout(due);
    if (isDone || due === null) due = setTimeout(again, isDone ? 0 : 200);
  };
}

/** Dark, light, or as the system says; the browser remembers it where it may. */
function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(isDark ? "light" : "dark");
  try {
    localStorage.setItem("perpend theme", root.dataset.theme);
  } catch {
    /* not remembered */
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  document.getElementById("theme").setAttribute("aria-pressed", theme === "dark" ? "true" : "false");
}

function rememberedTheme() {
  try {
    const theme = localStorage.getItem("perpend theme");
    if (theme === "dark" || theme === "light") setTheme(theme);
  } catch {
    /* nothing is remembered */
  }
}

/** Ask the server for what is new, every 2 s while a run grows, else every 10 s. */
async function poll() {
  try {
    const index = await fetchJSON(`api/index?since=${encodeURIComponent(DATA.version)}`);
    fill(document.getElementById("connection"), "");
    if (index?.columns && index.version !== DATA.version) {
      const wasPending = STATE.screen === "trial" && column("outcome").text(Math.max(0, rowOf(STATE.t))) === "pending";
      takeIndex(index);
      searchAgain();
      const isReading = document.querySelector(".blind") || document.activeElement?.id === "reader";
      if (STATE.screen === "labels" && isReading) refreshAgreement();
      else if (STATE.screen !== "trial" || wasPending) show({ isData: true });
    }
  } catch (error) {
    fill(
      document.getElementById("connection"),
      `The server does not answer (${escaped(error.message)}); the page shows what it has.`,
    );
  }
  setTimeout(poll, DATA.index.growing ? 2000 : 10000);
}

function refreshAgreement() {
  const place = document.querySelector("[data-part=agreement]");
  const run = DATA.runs.find((one) => one.name === LABELS.last?.run.name);
  if (place && run) fill(place, agreementView(run));
}

async function start() {
  try {
    takeIndex(await loadIndex());
  } catch (error) {
    return fill(
      document.getElementById("main"),
      h("p.problem", {}, `The data of this page cannot be read: ${error.message}`),
    );
  }
  rememberedTheme();
  fill(document.getElementById("title"), inertName(DATA.index.title, 80));
  document.getElementById("theme").addEventListener("click", switchTheme);
  document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
  helpDialog();
  wireToolbar();
  STATE = stateOf(location.hash);
  show();
  document.documentElement.dataset.ready = "yes";
  performance.mark("ready");
  if (MODE === "live") setTimeout(poll, 2000);
  if (MODE !== "folder") requestAnimationFrame(() => setTimeout(feed));
}

start();
