// Claims: what somebody states, what the data gives, and the trials under it.

function claimsScreen() {
  const all = DATA.runs.flatMap((run, r) => (run.claims ?? []).map((claim, n) => ({ claim, run, place: `${r}.${n}` })));
  if (!all.length) {
    return h(
      "div.claims",
      {},
      h(
        "p.empty",
        {},
        "No claim is stated for this run. Write claims.toml beside it, or give it with --claims, and each claim is here with its trials.",
      ),
    );
  }
  return h(
    "div.claims",
    {},
    h(
      "p.count",
      {},
      `${plural(all.length, "claim")}, ${count(all.filter(({ claim }) => isHolding(claim.verdict)).length)} recomputed as stated.`,
    ),
    all.map(({ claim, run, place }) => claimView(claim, run, place)),
  );
}

const isHolding = (verdict) => verdict === "pass";
const VERDICTS = { pass: ["✓", "o-right"], fail: ["!", "o-error"], undefined: ["?", "o-unscored"] };

function claimView(claim, run, place) {
  const rows = claim.trials ?? [];
  const tally = new Array(OUTCOMES.length).fill(0);
  for (const row of rows) tally[outcomePlace(column("outcome").text(row))]++;
  const shown = (value) => (value === null || value === undefined ? "undefined" : inertName(String(value), 120));
  const [glyph, look] = VERDICTS[claim.verdict] ?? VERDICTS.undefined;
  return h(
    "article.claim",
    { "data-verdict": claim.verdict },
    h(
      "p.verdict",
      {},
      h(
        "span.badge",
        { class: look },
        h("span.glyph", { "aria-hidden": "true" }, glyph),
        h("span", {}, inertName(claim.verdict ?? "unchecked", 60)),
      ),
      claim.name ? h("span.quiet", {}, " · ", inertName(claim.name, 80)) : null,
      claim.why ? h("span.quiet", {}, ": ", inertName(claim.why, 300)) : null,
      DATA.runs.length > 1 ? [" ", h("span.quiet", {}, inertName(run.name, 60))] : null,
    ),
    h("h3", {}, inertName(claim.text || claim.name || "", 400)),
    h(
      "dl.place",
      {},
      h("div", {}, h("dt", {}, "Stated"), h("dd", {}, shown(claim.stated))),
      h("div", {}, h("dt", {}, "Recomputed"), h("dd", {}, shown(claim.recomputed))),
      claim.recomputes
        ? h("div", {}, h("dt", {}, "Formula"), h("dd", {}, h("code", {}, inertName(claim.recomputes, 300))))
        : null,
      claim.at ? h("div", {}, h("dt", {}, "Stated in"), h("dd", {}, inertName(claim.at, 120))) : null,
    ),
    rows.length
      ? h(
          "p",
          {},
          outcomeBar(tally),
          " ",
          h(
            "a",
            { href: linkTo({ screen: "trials", claim: place, filters: {}, ranges: {}, q: "" }) },
            `Read the ${plural(rows.length, "trial")} under it`,
          ),
          claim.n > rows.length ? h("span.quiet", {}, `, the first of ${count(claim.n)}`) : null,
        )
      : h("p.quiet", {}, "It names no trials of this page."),
  );
}
