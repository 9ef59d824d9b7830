"""A run and a checkpoint → answer log-probabilities, logit lens, probes, projections and steering, in the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from perpend.ask.progress import Progress
from perpend.canon import JSON
from perpend.errors import SpecError
from perpend.inside.prompts import TrialPrompt, label_of, other_precision, same_weights, trial_prompts
from perpend.ledger.database import exclusive
from perpend.ledger.looks import Look, Row, folder_of, write_look
from perpend.types import Estimate

if TYPE_CHECKING:
    from perpend.inside.probes import LinearProbe
    from perpend.measure.run import Run
    from perpend.models.hf.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class LookSettings:
    """What a look takes in.

    `layers` None is all of them. Of the items `held_out` are kept from the probes' training, drawn by `seed`. `alphas`
    are the strengths of steering, in gaps of the probe (none: no steering), which is of the kind `steer_by`, 'truth' or
    'social'; `steer_layer` None is the layer whose probe does best on held-out items; `steer_at` is 'answer' (from the
    answer position on) or 'all' tokens. Trials that are under pressure, answered and have both answers are steered, the
    first `steer_trials` of them (None: all).
    """

    layers: tuple[int, ...] | None = None
    top_k: int = 10
    held_out: float = 0.3
    seed: int = 42
    alphas: tuple[float, ...] = (1.0,)
    steer_by: Literal["truth", "social"] = "truth"
    steer_layer: int | None = None
    steer_at: Literal["answer", "all"] = "answer"
    steer_trials: int | None = None

    def __post_init__(self) -> None:
        if self.layers == ():
            raise SpecError("layers must name at least one layer; leave it out for all of them")
        if self.top_k < 1:
            raise SpecError(f"top_k must be 1 or more, not {self.top_k}")
        if not 0.0 < self.held_out < 1.0:
            raise SpecError(f"held_out must be a share between 0 and 1, not {self.held_out:g}")
        if any(alpha == 0.0 or not math.isfinite(alpha) for alpha in self.alphas):
            raise SpecError("an alpha of steering must be a number other than 0: the baseline is always run")
        if len(set(self.alphas)) < len(self.alphas):
            raise SpecError("an alpha of steering is given twice")
        if self.steer_at not in ("answer", "all"):
            raise SpecError(f"steer_at must be 'answer' or 'all', not {self.steer_at!r}")
        if self.steer_by not in ("truth", "social"):
            raise SpecError(f"steer_by must be 'truth' or 'social', not {self.steer_by!r}")


def layers_of(text: str) -> tuple[int, ...]:
    """The layers that a text such as '0,10,20-29' names."""
    layers: list[int] = []
    for part in text.split(","):
        first, dash, last = (end.strip() for end in part.partition("-"))
        if not first.isdecimal() or (dash and not (last.isdecimal() and int(first) <= int(last))):
            raise SpecError(f"layers: {part.strip()!r} is neither a number nor a range; write them as in 0,10,20-29")
        layers += range(int(first), int(last or first) + 1)
    return tuple(dict.fromkeys(layers))


def checkpoint_of(
    name: str, *, endpoint: str = "chat", device: str | None = None, dtype: str | None = None
) -> Checkpoint:
    """The checkpoint 'hf/…' (a folder, a GGUF file, or smollm2). Only a model in transformers can be looked into."""
    provider, _, rest = name.partition("/")
    if provider != "hf" or not rest:
        raise SpecError(f"{name}: only a checkpoint in transformers can be looked into; give hf/FOLDER or hf/smollm2")
    from perpend.models.hf import model

    return model(rest, endpoint=endpoint, device=device, dtype=dtype).checkpoint


def look_inside(
    directory: Path,
    checkpoint: Checkpoint,
    settings: LookSettings | None = None,
    *,
    model: str | None = None,
    quiet: bool = False,
) -> Look:
    """Look into the checkpoint at every trial of one model of a run, and write inside/<model>/ in the run directory.

    `model` is its label in the run, None where there is only one. A look that is there already is replaced; answers and
    scores of the run are never touched. A run that other weights have answered, or that was asked through another
    endpoint, is a StoreError.
    """
    from perpend.measure.run import Run

    settings = settings or LookSettings()
    run = Run(directory)
    label = label_of(run.manifest, model)
    same = same_weights(run.manifest, label, checkpoint)
    with exclusive(directory):
        entries = trial_prompts(directory, run.manifest, label, checkpoint)
        stages = _Stages(run, checkpoint, settings, entries, quiet=quiet)
        lines, estimates, notes = stages.all()
        notes |= other_precision(run.manifest, label, checkpoint)
        header: Row = {
            "run": directory.name,
            "model": label,
            "checkpoint": dict(checkpoint.fingerprint()),
            "same_weights": same,
            "settings": {**asdict(settings), "layers": list(stages.reader.layers), "alphas": list(settings.alphas)},
            "batch_tokens": stages.weigher.batch_tokens,
            "notes": notes,
        }
        return write_look(folder_of(directory, label), header, lines, estimates)


class _Stages:
    """One look while it is taken: the stages in order, each on the results of the ones before it."""

    def __init__(
        self, run: Run, checkpoint: Checkpoint, settings: LookSettings, entries: Sequence[TrialPrompt], *, quiet: bool
    ) -> None:
        from perpend.inside.blocks import anatomy
        from perpend.inside.lens import Reader
        from perpend.models.hf.abilities import weigher

        self.run, self.checkpoint, self.settings = run, checkpoint, settings
        self.entries, self.quiet = entries, quiet
        count = len(anatomy(checkpoint.model).blocks)
        chosen = range(count) if settings.layers is None else sorted(set(settings.layers))
        layers = tuple(_layer(layer, count) for layer in chosen)
        if settings.steer_layer is not None and _layer(settings.steer_layer, count) not in layers:
            raise SpecError(f"steer_layer {settings.steer_layer} is not among the layers that are looked at")
        self.weigher = weigher(checkpoint.model, 2048 if checkpoint.model.device.type == "cpu" else 16384)
        self.reader = Reader(checkpoint, self.weigher, layers)
        self.notes: dict[str, JSON] = {}

    def all(self) -> tuple[dict[str, list[Row]], dict[str, JSON], dict[str, JSON]]:
        """The lines of every file, the estimates, and what could not be had and why."""
        from perpend.inside.answers import answer_rows, shifts
        from perpend.inside.probes import KINDS

        conditions = self.run.table.values("condition")
        statements, probes = self._probes()
        probed = {kind: [probe.line for probe in probes if probe.kind == kind] for kind in KINDS if probes}
        with Progress("inside", len(self.entries), quiet=self.quiet) as progress:
            readings = self.reader.trials(self.entries, self.settings.top_k, probed, progress.advance)
        answers = answer_rows(self.entries, readings.logprobs)
        steering = self._steering(probes)
        lines: dict[str, list[Row]] = {
            "answers": answers,
            "lens": readings.lens,
            "statements": statements,
            "probes": [probe.as_json() for probe in probes],
            "projections": readings.projections,
            "steering": steering,
        }
        estimates: dict[str, JSON] = {
            kind: _as_json(by_condition) for kind, by_condition in shifts(answers, self.run.table, conditions).items()
        }
        estimates["control"] = conditions[0]
        for name, kind in (("accuracy", "truth"), ("social_accuracy", "social")):
            estimates[name] = _as_json({str(probe.layer): probe.accuracy for probe in probes if probe.kind == kind})
        estimates["steering"] = _as_json(self._effects(steering))
        return lines, estimates, self.notes

    def _probes(self) -> tuple[list[Row], list[LinearProbe]]:
        """The statements with their side of the split, and a probe for each kind and layer; none with too few items."""
        from perpend.inside.probes import FEWEST_ITEMS, KINDS, held_out, probe, statements

        asked = list({entry.trial.item.id: entry.trial.item for entry in self.entries}.values())
        texts = {kind: statements(asked, kind) for kind in KINDS}
        items = {statement.item for statement in texts["truth"]}
        if len(items) < FEWEST_ITEMS:
            self.notes["probes"] = f"{len(items)} items have a target and a decoy; probes need {FEWEST_ITEMS}"
            return [], []
        kept_out = held_out(items, self.settings.held_out, self.settings.seed)
        rows: list[Row] = []
        probes: list[LinearProbe] = []
        for some in texts.values():
            features = self.reader.statements([one.text for one in some])
            rows += [{**one.as_json(), "held_out": one.item in kept_out} for one in some]
            probes += [probe(layer, features[layer], some, kept_out) for layer in self.reader.layers]
        return rows, probes

    def _steering(self, probes: Sequence[LinearProbe]) -> list[Row]:
        from perpend.inside.probes import best
        from perpend.inside.steering import steering, steering_rows
        from perpend.models.hf.provider import Transformers

        wanted = [e for e in self.entries if e.is_pair and e.answered and e.pressed]
        wanted = wanted[: self.settings.steer_trials]
        if not (self.settings.alphas and wanted and probes):
            self.notes["steering"] = (
                "not asked for" if not self.settings.alphas
                else "there is no probe to steer by" if not probes
                else "no answered trial under pressure has both a target and a decoy"
            )  # fmt: skip
            return []
        layer = self.settings.steer_layer
        probes = [probe for probe in probes if probe.kind == self.settings.steer_by]
        chosen = best(probes) if layer is None else next(probe for probe in probes if probe.layer == layer)
        if chosen.gap <= 0.0:
            self.notes["steering"] = f"the probe of layer {chosen.layer} does not separate its own training statements"
            return []
        if chosen.accuracy.lo is None or chosen.accuracy.lo <= 0.5:
            self.notes[f"the probe of layer {chosen.layer}"] = (
                f"held-out accuracy {chosen.accuracy}: not distinguishable from chance, so steering by it shows the"
                " effect of adding some vector of this length"
            )
        places = 4 if self.checkpoint.model.device.type == "cpu" else 64
        provider = Transformers("steered", self.checkpoint, self.weigher, places)
        steer = steering(self.checkpoint, chosen, self.settings.steer_at)
        alphas = self.settings.alphas
        with Progress("steering", len(wanted) * (1 + len(alphas)), quiet=self.quiet) as progress:
            tokens = self.weigher.batch_tokens if self.weigher.padded else 1  # which is one row at a time
            return steering_rows(provider, wanted, steer, alphas, tokens, progress.advance)

    def _effects(self, rows: Sequence[Row]) -> dict[str, Estimate]:
        from perpend.inside.steering import steering_effects

        return steering_effects(rows, {entry.trial.trial: entry.trial.item.id for entry in self.entries})


def _layer(layer: int, count: int) -> int:
    if not 0 <= layer < count:
        raise SpecError(f"no layer {layer}; the checkpoint's layers are 0 to {count - 1}")
    return layer


def _as_json(estimates: Mapping[str, Estimate]) -> dict[str, JSON]:
    return {name: estimate.as_json() for name, estimate in estimates.items()}
