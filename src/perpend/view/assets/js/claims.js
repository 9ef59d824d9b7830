// Claims: what somebody states, what the data gives, and the trials under it.

function claimsScreen() {
  const all = DATA.runs.flatMap((run, r) => (run.claims ?? []).map((claim, n) => ({ claim, run, place: `${r}.${n}` })));
  if (!all.length) {
    return h("div.claims", {}, h("p.empty", {}, "No claim is stated for this run. Write claims.toml beside it, or give it with --claims, and each claim is here with its trials."));
  }
  return h("div.claims", {}, h("p.count", {}, `${plural(all.length, "claim")}, ${count(all.filter(({ claim }) => isHolding(claim.verdict)).length)} confirmed by the data in this page.`),
    all.map(({ claim, run, place }) => claimView(claim, run, place)));
}

const isHolding = (verdict) => /^(holds|ok|confirmed|reproduced|true|agrees|matches)/i.test(verdict ?? "");

function claimView(claim, run, place) {
  const rows = claim.trials ?? [];
  const tally = new Array(OUTCOMES.length).fill(0);
  for (const row of rows) tally[outcomePlace(column("outcome").text(row))]++;
  const said = (value) => (value === null || value === undefined ? "undefined" : inertName(String(value), 120));
  return h("article.claim", {}, h("p.verdict", {}, h("span.badge", { class: isHolding(claim.verdict) ? "o-right" : "o-planted" }, h("span.glyph", { "aria-hidden": "true" }, isHolding(claim.verdict) ? "✓" : "◆"), h("span", {}, inertName(claim.verdict ?? "unchecked", 60))), DATA.runs.length > 1 ? [" ", h("span.quiet", {}, inertName(run.name, 60))] : null),
    h("h3", {}, inertName(claim.text, 400)),
    h("dl.place", {}, h("div", {}, h("dt", {}, "Stated"), h("dd", {}, said(claim.stated))), h("div", {}, h("dt", {}, "Recomputed"), h("dd", {}, said(claim.recomputed)))),
    rows.length ? h("p", {}, outcomeBar(tally), " ", h("a", { href: linkTo({ screen: "trials", claim: place, filters: {}, ranges: {}, q: "" }) }, `Read the ${plural(rows.length, "trial")} under it`)) : h("p.quiet", {}, "It names no trials of this page."));
}
