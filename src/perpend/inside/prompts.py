"""The trials of a run as its model was asked them, and the candidates whose likelihood is taken under each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.ask.conditions import first_request, from_params
from perpend.errors import SpecError, StoreError, did_you_mean
from perpend.ledger.manifest import Manifest
from perpend.ledger.plan import Trial
from perpend.ledger.raw import last_trial
from perpend.ledger.store import Store
from perpend.models.base import UnreadableRequestError
from perpend.models.hf.forest import Passage
from perpend.types import Condition, Request

if TYPE_CHECKING:
    from perpend.models.hf.checkpoint import Checkpoint

ROLES = ("target", "decoy")


@dataclass(frozen=True, slots=True)
class TrialPrompt:
    """One trial and its request. `pressed`: its prompt states the decoy. `answered`: the run has an answer.

    `passages` hold the prompt followed by the target and by the decoy, those that the item has; none where the model
    cannot be asked them, and `note` says why.
    """

    trial: Trial
    request: Request
    pressed: bool
    answered: bool
    passages: Mapping[str, Passage]
    note: str = ""

    @property
    def prompt(self) -> tuple[int, ...]:
        """The tokens up to the answer position, which is the last one before a candidate's first token."""
        first = next(iter(self.passages.values()))
        return first.tokens[: first.start]

    @property
    def is_pair(self) -> bool:
        """Both the target and the decoy can be weighed."""
        return len(self.passages) == len(ROLES)


def label_of(manifest: Manifest, label: str | None) -> str:
    """The label of the model that is looked into: the given one, or the run's only one."""
    known = [model.label for model in manifest.models]
    if label is None and len(known) == 1:
        return known[0]
    if label is None:
        raise SpecError(f"the run has {len(known)} models; name the one to look into: {', '.join(known)}")
    if label not in known:
        raise SpecError(f"the run has no model {label!r}; {did_you_mean(label, known)}")
    return label


def other_precision(manifest: Manifest, label: str, checkpoint: Checkpoint) -> dict[str, str]:
    """A note where the run was answered in another precision than is looked into: near ties may turn out otherwise."""
    answered = next(model.fingerprint.get("dtype") for model in manifest.models if model.label == label)
    here = checkpoint.fingerprint()["dtype"]
    if answered in (None, here):
        return {}
    return {"dtype": f"answered in {answered}, looked into in {here}; --dtype {answered} looks into what answered"}


def same_weights(manifest: Manifest, label: str, checkpoint: Checkpoint) -> bool | None:
    """Whether the run's answers came from this checkpoint's weights; None where its manifest does not say.

    StoreError where they did not, and where the messages were fed in another way than this checkpoint feeds them.
    """
    stated = next(model.fingerprint for model in manifest.models if model.label == label)
    endpoint = stated.get("endpoint", checkpoint.endpoint)
    if endpoint != checkpoint.endpoint:
        raise StoreError(f"{label!r} was asked through endpoint {endpoint!r}; load the checkpoint with that one")
    same: bool | None = None
    if "weights_sha256" in stated:
        same = stated["weights_sha256"] == checkpoint.fingerprint()["weights_sha256"]
    elif "file_sha256" in stated:
        same = stated["file_sha256"] in checkpoint.files.values()
    if same is False:
        raise StoreError(f"{label!r} was answered by other weights than this checkpoint's; load the ones that ran it")
    return same


def trial_prompts(directory: Path, manifest: Manifest, label: str, checkpoint: Checkpoint) -> list[TrialPrompt]:
    """Every trial of one model, in plan order. A request that differs from the one that was sent is a StoreError."""
    conditions = _conditions(directory, manifest)
    prompts: list[TrialPrompt] = []
    with Store.open(directory / "run.db") as store:
        sent, answered = dict(store.first_requests()), store.answered_turns(0)
        for trial in store.trials(1, last_trial(store)):
            if trial.model != label:
                continue
            condition = conditions[trial.condition]
            request = first_request(trial, condition, choices_scored=manifest.choices_scored)
            if sent.get(trial.trial) not in (None, "", request.digest):
                raise StoreError(
                    f"{directory}: trial {trial.trial} (item {trial.item.id!r}, {trial.condition}) was asked in other"
                    " words than this version of perpend renders; look inside with the version that ran it"
                )
            passages, note = _passages(checkpoint, trial, request)
            prompts.append(TrialPrompt(trial, request, condition.needs_decoy, trial.trial in answered, passages, note))
    return prompts


def _conditions(directory: Path, manifest: Manifest) -> dict[str, Condition]:
    conditions: dict[str, Condition] = {}
    for entry in manifest.conditions:
        condition = from_params(entry.name, entry.params)
        if condition is None:
            raise StoreError(
                f"{directory}: condition {entry.name!r} has no template in the manifest; it cannot be rendered"
            )
        conditions[entry.name] = condition
    return conditions


def _passages(checkpoint: Checkpoint, trial: Trial, request: Request) -> tuple[dict[str, Passage], str]:
    answers = {role: text for role in ROLES if (text := getattr(trial.item, role)) is not None}
    if not answers:
        return {}, "the item has neither target nor decoy"
    # A chat template ends where an answer begins; after a plain text the answer is a new word.
    lead = (
        " " if checkpoint.endpoint == "completions" and not checkpoint.render(request.messages)[-1:].isspace() else ""
    )
    weighed = Request(request.messages, request.sampling, tuple(lead + text for text in answers.values()))
    try:
        passages = checkpoint.passages(weighed)
    except UnreadableRequestError as error:
        return {}, str(error)
    missing = [f"the item has no {role}" for role in ROLES if role not in answers]
    return dict(zip(answers, passages, strict=True)), "; ".join(missing)
