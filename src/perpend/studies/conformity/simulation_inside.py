"""Looks inside a run → the eight tables of simulation.db that the conformity study names for them.

`conformity_answer_logprobs` is of a later version of the study, so it is written only where there is a look. Steered
answers stand beside a trial's own among the outputs, at the same time and with later ids: the study takes the first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perpend.canon import JSON, as_list, as_object, dumps, whole_of
from perpend.judging import seed
from perpend.ledger.looks import Look
from perpend.studies.conformity.simulation_kept import LOGPROBS

_COMPONENT = "hook_resid_post"
_KINDS = {"target": "ground_truth", "decoy": "wrong_answer"}
_SUFFIX = {"truth": "", "social": "|social"}
_TRIALS = (
    "SELECT t.trial_id, t.run_id, t.model_id, i.ground_truth_text, max(o.created_at) FROM conformity_trials t"
    " JOIN conformity_items i USING (item_id) LEFT JOIN conformity_outputs o USING (trial_id) GROUP BY t.trial_id"
)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A trial as the database holds it; `answered_at` is None where it has no output."""

    id: str
    run: str
    model: str
    target: str | None
    answered_at: float | None


@dataclass(frozen=True, slots=True)
class Export:
    """One database on its way out: the id of each trial of the plan, and how ids come from a kind and a key."""

    db: sqlite3.Connection
    trials: Mapping[int, str]
    identify: Callable[[str, str], str]
    created: float

    def write(self, looks: Sequence[Look]) -> None:
        """Write looks into a database that has its trials and outputs already."""
        self.db.executescript(LOGPROBS)
        rows = {str(row[0]): _Trial(*row) for row in self.db.execute(_TRIALS)}
        trials = {number: rows[key] for number, key in self.trials.items()}
        for look in looks:
            self._many("conformity_answer_logprobs", 11, self._answers(look, trials))
            self._many("conformity_logit_lens", 6, self._lens(look, trials))
            self._many("conformity_trial_steps", 4, self._steps(look))
            self._many("conformity_think_tokens", 6, self._thoughts(look, trials))
            kinds = dict.fromkeys(_kind(row) for row in look.rows("probes"))
            if kinds:
                self._many("conformity_datasets", 6, [self._dataset(look)])
                runs = dict.fromkeys(trials[whole_of(row, "trial", "a look")] for row in look.rows("projections"))
                for kind in kinds:
                    self._many("conformity_probes", 11, self._probes(look, kind, {t.run: t.model for t in runs}))
                self._many("conformity_probe_projections", 7, self._projections(look, trials))
                self._steering(look, trials)

    def _many(self, table: str, columns: int, rows: Iterator[tuple[object, ...]] | list[tuple[object, ...]]) -> None:
        self.db.executemany(f"INSERT INTO {table} VALUES({', '.join('?' * columns)})", rows)

    def _answers(self, look: Look, trials: Mapping[int, _Trial]) -> Iterator[tuple[object, ...]]:
        for row in look.rows("answers"):
            for role, candidate in as_object(row["candidates"]).items():
                if isinstance(candidate, Mapping):
                    tokens, values = as_list(candidate["tokens"]), as_list(candidate["logprobs"])
                    about = {"tokens": tokens, "logprobs": values, "position": row["position"]}
                    numbers = (len(tokens), candidate["total"], candidate["per_token"], tokens[0], values[0])
                    head = (
                        trials[whole_of(row, "trial", "a look")].id,
                        "assistant_start",
                        _KINDS[role],
                        candidate["text"],
                    )
                    yield *head, *numbers, dumps(about), self.created

    def _lens(self, look: Look, trials: Mapping[int, _Trial]) -> Iterator[tuple[object, ...]]:
        """token_index 0 is the study's number for the end of the prompt."""
        for row in look.rows("lens"):
            key = self.identify("lens", f"{row['trial']}|{row['layer']}")
            yield key, trials[whole_of(row, "trial", "a look")].id, row["layer"], 0, dumps(row["top"]), self.created

    def _steps(self, look: Look) -> Iterator[tuple[object, ...]]:
        """The trials that were read inside, by their number in the run, as the study counts those that it reads."""
        for trial in dict.fromkeys(whole_of(row, "trial", "a look") for row in look.rows("lens")):
            yield self.trials[trial], trial, f"trial_{self.trials[trial][:8]}", self.created

    def _thoughts(self, look: Look, trials: Mapping[int, _Trial]) -> Iterator[tuple[object, ...]]:
        """The words between the think tags of each answer, as the study splits them; it has no ids of tokens either."""
        first = "SELECT raw_text FROM conformity_outputs WHERE trial_id = ? ORDER BY created_at, output_id LIMIT 1"
        for row in look.rows("answers"):
            trial = trials[whole_of(row, "trial", "a look")]
            text = self.db.execute(first, (trial.id,)).fetchone()
            before, tag, _ = str(text[0] if text else "").partition("</think>")
            for number, word in enumerate(before.rpartition("<think>")[2].split() if tag else ()):
                key = self.identify("think", f"{row['trial']}|{number}")
                yield key, trial.id, number, word, None, self.created

    def _dataset(self, look: Look) -> tuple[object, ...]:
        """The statements that the probes were trained on, as a data set of their own."""
        sha256 = as_object(as_object(look.header["files"])["statements.jsonl"])["sha256"]
        path = f"{_path(look)}/statements.jsonl"
        key = self.identify("statements", look.model)
        return key, f"statements of {look.model}", "1", path, sha256, self.created

    def _probes(self, look: Look, kind: str, runs: Mapping[str, str]) -> Iterator[tuple[object, ...]]:
        """The probes of all layers are one row, as in the study; one for each of its runs, which name them."""
        rows = [row for row in look.rows("probes") if _kind(row) == kind]
        layers = [row["layer"] for row in rows]
        metrics = {str(row["layer"]): {key: row[key] for key in row if key != "weight"} for row in rows}
        for run, model in runs.items():
            yield (
                self._probe_id(look, run, kind), run, kind, self.identify("statements", look.model), model,
                dumps({"layers": layers}), _COMPONENT, -1, f"{_path(look)}/probes.jsonl", dumps(metrics), self.created,
            )  # fmt: skip

    def _projections(self, look: Look, trials: Mapping[int, _Trial]) -> Iterator[tuple[object, ...]]:
        for row in look.rows("projections"):
            trial = trials[whole_of(row, "trial", "a look")]
            for kind, field in (("truth", "values"), ("social", "social")):
                values = as_list(row.get(field, []))
                for layer, value in zip(as_list(row["layers"]), values, strict=bool(values)):
                    key = self.identify("projection", f"{row['trial']}|{layer}{_SUFFIX[kind]}")
                    yield key, trial.id, self._probe_id(look, trial.run, kind), layer, None, value, self.created

    def _steering(self, look: Look, trials: Mapping[int, _Trial]) -> None:
        """Interventions, their outputs before and after, and the results.

        A trial without an output of its own is left out: its baseline would be taken for its answer. So is a pair of
        which one side failed.
        """
        settings, estimates = as_object(look.header["settings"]), look.estimates
        where, kind = settings.get("steer_at"), str(settings.get("steer_by", "truth"))
        gaps = {row["layer"]: row["gap"] for row in look.rows("probes") if _kind(row) == kind}
        interventions: dict[str, tuple[object, ...]] = {}
        outputs: dict[str, tuple[object, ...]] = {}
        results: list[tuple[object, ...]] = []
        for row in look.rows("steering"):
            trial = trials[whole_of(row, "trial", "a look")]
            texts = [text for text in (row["text_before"], row["text_after"]) if isinstance(text, str)]
            if trial.answered_at is None or len(texts) < 2:
                continue
            layer, alpha = row["layer"], row["alpha"]
            key = self.identify("intervention", f"{look.model}|{trial.run}|{layer}|{alpha}")
            notes = dumps({"added_length_of_alpha_1": gaps[layer], "positions": where, "effect": estimates["steering"]})
            layers = dumps({"layers": [layer]})
            probe = self._probe_id(look, trial.run, kind)
            named = key, trial.run, f"{kind}_add_{alpha}", alpha, layers, _COMPONENT, probe, notes, self.created
            interventions[key] = named
            ids = f"{trial.id}-inside-000000", f"{trial.id}-inside-{alpha}"
            judged = []
            for output, text in zip(ids, texts, strict=True):
                answer = seed.parse_answer(text)
                judged.append(seed.is_correct(answer, trial.target))
                verdict = answer, None, judged[-1], seed.is_refusal(text)
                outputs[output] = (output, trial.id, text, *verdict, None, None, trial.answered_at)
            flipped = None if None in judged else not judged[0] and judged[1]
            result = self.identify("result", f"{row['trial']}|{layer}|{alpha}")
            results.append((result, trial.id, key, *ids, flipped, self.created))
        self._many("conformity_interventions", 9, list(interventions.values()))
        self._many("conformity_outputs", 10, list(outputs.values()))
        self._many("conformity_intervention_results", 7, results)

    def _probe_id(self, look: Look, run: str, kind: str) -> str:
        return self.identify("probe", f"{look.model}|{run}{_SUFFIX[kind]}")


def _kind(row: Mapping[str, JSON]) -> str:
    """Of what a probe is; a look of format 1 has none but of truth."""
    return str(row.get("kind", "truth"))


def _path(look: Look) -> str:
    return f"{look.folder.parent.name}/{look.folder.name}"
