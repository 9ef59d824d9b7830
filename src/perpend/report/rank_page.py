"""RANK.md, RANK.json and the tables of a ranking; or one table alone, as the name of the file says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from perpend.canon import pretty, write_atomic
from perpend.errors import SpecError
from perpend.inert import markdown
from perpend.report.figures import RANKING, draw_rankings, save_widths
from perpend.report.rank_runs import PAIR_COLUMNS, RANK_COLUMNS, ColumnRanking, RunRanking
from perpend.report.rank_text import held_at_once, left_out, ranks_of
from perpend.report.tables import as_csv, interval, markdown_table, number, tex_escaped, tex_number, tex_table
from perpend.types import Estimate

_METHODS = (
    "A model's score on an item is the mean over its trials; its mean is over items, and so is n. Intervals: Wilson at "
    "the effective number of items for scores between 0 and 1, else Student's t, with the quantile of the largest |t| "
    "over models when items are drawn with replacement, the same for all. A model is shown to be better than another "
    "where their difference by item is significant among all pairs (largest |t| when signs of items are flipped, step "
    "by step). Ranks: 1 + models shown to be better, to models − models shown to be worse. Tier: 1 where none is shown "
    "to be better, else 1 + the largest tier of those that are; so models of one tier are not told apart."
)
_HEAD = ("tier", "ranks", "model", "mean", "95% interval", "items", "without a value")


def write_ranking(ranking: RunRanking, out: Path, *, figures: bool = True) -> Path:
    """Write the table as .csv, .md or .tex where `out` is such a file; else page, JSON, tables and figures into it.

    Returns the file, or the page.
    """
    tables = {".csv": ranking_csv, ".md": ranking_markdown, ".tex": ranking_tex}
    if out.suffix in tables and not out.is_dir():
        write_atomic(out, tables[out.suffix](ranking))
        return out
    if out.is_file():
        raise SpecError(f"{out}: is a file; name a folder, or a .csv, .md or .tex file")
    write_atomic(out / "RANK.json", pretty(ranking.as_json()))
    write_atomic(out / "ranking.csv", ranking_csv(ranking))
    write_atomic(out / "ranking.tex", ranking_tex(ranking))
    write_atomic(out / "pairs.csv", as_csv(PAIR_COLUMNS, [row for one in ranking.rankings for row in one.pair_rows()]))
    page = ranking_markdown(ranking)
    if figures:
        save_widths(lambda width: draw_rankings(ranking.panels(), width), RANKING, out)
        page += f"\n## Figure\n\n![Every mean with its interval, by tier](figures/{RANKING}_double.png)\n"
    write_atomic(out / "RANK.md", page)
    return out / "RANK.md"


def ranking_csv(ranking: RunRanking) -> str:
    """Every model of every ranking at full precision; empty where undefined."""
    return as_csv(RANK_COLUMNS, [row for one in ranking.rankings for row in one.rows()])


def ranking_markdown(ranking: RunRanking) -> str:
    """The rankings in Markdown: tiers, ranks, means, who is not told apart, what was left out, cautions."""
    lines = [f"# Ranking of {len(ranking.models)} models", "", markdown(held_at_once(ranking)), ""]
    lines += [*(f"- {markdown(note)}" for note in ranking.notes), *([""] if ranking.notes else [])]
    for one in ranking.rankings:
        lines += [f"## {markdown(one.title)}", "", *_section(one, ranking), ""]
    return "\n".join([*lines, "## Method", "", _METHODS]) + "\n"


def _section(one: ColumnRanking, ranking: RunRanking) -> list[str]:
    rows = [
        (str(m.tier or "NA"), ranks_of(m), markdown(m.name), _value(m.mean), interval(m.mean), str(m.mean.n),
         str(one.scores.unscored[m.name]))
        for m in one.ranking.by_tier()
    ]  # fmt: skip
    across = [f"{markdown(first)} and {markdown(second)}" for first, second in one.across()]
    return [
        markdown_table(_HEAD, rows), "", f"Ranked {markdown(left_out(one, ranking.options.missing))}",
        *(["", f"Of different tiers, but not told apart: {'; '.join(across)}."] if across else []),
        *(["", *(f"- {own.id}: {markdown(own.text)}" for own in warned)] if (warned := one.ranking.cautions) else []),
    ]  # fmt: skip


def _value(mean: Estimate) -> str:
    return number(mean.value) if mean.value is not None else f"NA ({markdown(mean.note)})"


def ranking_tex(ranking: RunRanking) -> str:
    """The rankings as one tabular."""
    rows: list[Sequence[str]] = []
    for one in ranking.rankings:
        for m in one.ranking.by_tier():
            has_ends = m.mean.lo is not None and m.mean.hi is not None
            ends = f"{tex_number(m.mean.lo, 3)}, {tex_number(m.mean.hi, 3)}" if has_ends else "--"
            ranks = ranks_of(m).replace(" to ", "--")
            rows.append(
                (tex_escaped(one.scores.column), tex_escaped(one.scores.condition), str(m.tier or "NA"), ranks,
                 tex_escaped(m.name), tex_number(m.mean.value, 3), ends, str(m.mean.n))
            )  # fmt: skip
    head = ("column", "condition", "tier", "ranks", "model", "mean", r"95\% interval", "items")
    return tex_table(head, rows, align="llrllrrr")
