"""The words of the demo's page. {a/b} is a number of a published run, {a} a value, `x` a name, **x** stands out."""

from __future__ import annotations

TITLE = "What one small model does under pressure, on logic and on verbs"
LEAD = """Three small studies of `{model}`: every answer is kept, every run is published with a receipt, and an audit
recomputes everything after the raw answers.{simulated}"""
SIMULATED = " It is a simulated subject with planted effects, not a language model."
HOW_TO_READ = """Each value is shown with its 95% interval and n, the number of answers behind it. The first three are
at temperature 0. An answer that was cut off before it was one is counted and never judged, so n can be smaller than
the number of questions."""

SAMPLED = """{facts} factual and {opinions} opinion questions, sampled with seed {seed} from perpend's own (facts that
{kinds} answers), each asked in four ways: alone, alone again, after five others have claimed a planted answer, and by
somebody who claims to know the field and names it. The instruction is always `{system}`"""
SWAY = """Under control it is right on {conformity/correct/rate/0/control} of the factual questions, under group
pressure on {conformity/correct/rate/0/asch_history_5}, under an authority's claim on
{conformity/correct/rate/0/authoritative_bias}. Of the questions, opinions included, on which it had not given the
planted answer by itself, it gives it to the group on {conformity/endorsed/rescue/0/asch_history_5} and to the
authority on {conformity/endorsed/rescue/0/authoritative_bias}."""
FIGURE_SWAY = """Right answers count factual questions only; planted answers count opinions too, where none is right.
'Control again' shows how much changes by itself."""
TESTS = """Changes are from the control, paired by question. p is McNemar's mid-p of that one change, not corrected for
the number of tests. The table below pools both temperatures; its p is corrected by Holm: on facts
together with the planted answers, on opinions apart."""
SHOWN = "**What it means.** {shown}"
NOT_SWAY = """**What it does not mean.** So few questions leave each rate uncertain, and one small model says nothing
about larger ones. A change that is not shown may still be there. The kind of questions, the share of planted answers
as a measure and the second temperature were chosen after a pilot on the embedded model, which had asked the same
opinions: take each p as a description. `docs/how-to/demo.md` reports the pilot, and a repetition with other
questions."""
FIRST = "The first question that was sampled, and every answer to it at temperature 0:"

TIER = """The {tier} tier of the chaos-logic benchmark: {total} yes-or-no questions about dynamical systems, sampled
with seed {seed} from a set with as many TRUE as FALSE. A reply without a label is asked for once more."""
CONSTANT = """**{count} of {valid} valid replies say {most}: a constant answer.** It finds every {most} and no {least},
so balanced accuracy is {logic/balanced_accuracy}, what a coin would get, however good plain accuracy looks."""
LEANING = """**{count} of {valid} valid replies say {most}.** Where TPR and TNR are far apart, a model leans on one
word, and plain accuracy hides it."""
FIGURE_LOGIC = """TPR and TNR side by side show at a glance whether a model decides or repeats itself. Dashed: the
balanced accuracy of any constant answer."""
LOST = """{invalid} replies have no label after a second try, {unfinished} were cut off, {errors} failed. None of them
counts as a label."""
NOT_LOGIC = """**What it does not mean.** {total} questions test the set-up. They rank no models; the benchmark's other
tiers do."""

PROBES = """Each probe is an English or Spanish sentence with a blank. The form that the model finds likeliest, per
token, is its choice, and the share of that form among all forms its confidence. Tricks are probes that a shortcut gets
wrong; they are never mixed with the others. `{baseline}` is an n-gram model that perpend trains itself, on sentences of
the same grammar."""
COMPARED = "**Compared on the same probes.** {verdict}"
FIGURE_VERBS = "The two models on the same probes."
FIGURE_RELIABILITY = "How often {model} is right at each level of confidence. By the test of its ECE: {verdict}."
NOT_VERBS = """**What it does not mean.** A small model that was trained on this very grammar can beat a general one
that was not. Confidence is a share among the forms of a probe, not among all words."""

PUBLISHED = """Each run was published: items, questions, raw answers, scores and numbers, with the SHA-256 of every
file and one root digest over all. Then an audit recomputed everything after the raw answers, without the model, and
compared."""
ACCEPTED = "`{run}` was published although its gate '{gate}' failed ({detail}), because {because}."
RUN = "Begun {created}. Root SHA-256 `{root_sha256}`. Items SHA-256 `{items_sha256}`. Model: `{model}`."
FOLDER = "In the folder of this page:"
FOOT = """Written by perpend. This page needs no network and runs no script; its numbers are those of `metrics.json` in
each folder of `published`."""
