"""A checkpoint on this machine: its weights, its tokenizer, and what identifies them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
import transformers
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from perpend.canon import JSON, digest, digest_file
from perpend.errors import ModelError, SpecError
from perpend.models.base import BLANK, UnreadableRequestError, choice_tokens, plain_text
from perpend.models.hf.folder import WEIGHTS, checkpoint_files
from perpend.models.hf.forest import Passage
from perpend.models.local.weights import EMBEDDED, find_weights
from perpend.models.template import RAISED, TemplateProcess
from perpend.types import Message, Request

# What transformers and the libraries below it raise on files that are damaged or not what they seem.
_RAISED = (*RAISED, ImportError, SafetensorError)
UNLIMITED = 1 << 30
"""Tokens that no text has."""
# As configurations call it: MPT and DBRX have the second, older GPTs the others.
_LIMITS = ("max_position_embeddings", "max_seq_len", "n_positions", "n_ctx", "max_target_positions")
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model with its tokenizer. `files` are the digests of what was loaded, by file name."""

    model: PreTrainedModel = field(repr=False)
    tokenizer: PreTrainedTokenizerBase = field(repr=False)
    files: dict[str, str]
    endpoint: str = "chat"
    whole_sentence: bool = False
    template: TemplateProcess | None = field(default=None, repr=False)
    """What renders messages; None where the endpoint is 'completions'."""
    closing: int = 0
    """How many tokens the tokenizer adds at the end of a plain text. A text that goes on does not have them."""

    @property
    def limit(self) -> int:
        """The most tokens that the model has positions for."""
        return token_limit(self.model)

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end an answer."""
        ends = self.model.generation_config.eos_token_id
        ends = self.tokenizer.eos_token_id if ends is None else ends
        return frozenset(() if ends is None else [ends] if isinstance(ends, int) else ends)

    def fingerprint(self) -> dict[str, str]:
        """Digests of weights and texts, the versions of the libraries, the precision, and how messages are fed."""
        weights = {name: sha256 for name, sha256 in self.files.items() if name.endswith(WEIGHTS)}
        others = {name: sha256 for name, sha256 in self.files.items() if name not in weights}
        facts = {
            "provider": "hf",
            "engine": f"transformers {transformers.__version__}, torch {torch.__version__.partition('+')[0]}",
            "weights_sha256": digest(weights),
            "files_sha256": digest(others),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "endpoint": self.endpoint,
        }
        template = self.tokenizer.chat_template if self.endpoint == "chat" else None
        if isinstance(template, str):
            facts["template_sha256"] = hashlib.sha256(template.encode()).hexdigest()
        return facts

    def render(self, messages: Sequence[Message]) -> str:
        """The text that the model is fed: the chat template's, or the messages' contents and blank lines."""
        if self.endpoint == "completions":
            return plain_text(messages)
        assert self.template is not None
        return self.template.render(messages)

    def render_ahead(self, requests: Iterable[Request]) -> None:
        """Have the texts of many requests ready for `render`, at one exchange with the template's process."""
        if self.template is not None:
            self.template.render_ahead(request.messages for request in requests)

    def fed_sha256(self, request: Request) -> str:
        """SHA-256, in hex, of the text that the model reads before it answers, or before a choice."""
        text = self.render(request.messages)
        if request.choices and self.endpoint == "completions":
            text = text.partition(BLANK)[0]
        return hashlib.sha256(text.encode()).hexdigest()

    def tokens(self, text: str) -> tuple[int, ...]:
        """The tokens of a rendered text. A chat template writes its own beginning; a plain text gets one here."""
        is_plain = self.endpoint == "completions"
        tokens = self.tokenizer(text, add_special_tokens=is_plain, verbose=False)["input_ids"]
        return tuple(tokens[: len(tokens) - self.closing] if is_plain else tokens)

    def prompt(self, request: Request) -> tuple[int, ...]:
        """The tokens to continue. A prompt that leaves no room for `max_tokens` is an error, never cut."""
        tokens = self.tokens(self.render(request.messages)) or self._beginning("the prompt is empty")
        need = len(tokens) + request.sampling.max_tokens
        if need > self.limit:
            raise UnreadableRequestError(
                f"the prompt has {len(tokens)} tokens and the answer may have {request.sampling.max_tokens};"
                f" the model holds {self.limit}"
            )
        return tokens

    def _beginning(self, why: str) -> tuple[int, ...]:
        """The token that begins a text, where nothing else comes before what is asked for."""
        first = self.tokenizer.bos_token_id
        if first is None:
            raise UnreadableRequestError(f"{why}, and this tokenizer has no token that begins a text")
        return (first,)

    def text(self, text: str) -> Passage:
        """A text of which every token is scored, the first after the token that begins a text where there is one."""
        tokens = tuple(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        first = self.tokenizer.bos_token_id
        whole = tokens if first is None else (first, *tokens)
        if not tokens or len(whole) > self.limit + 1:
            raise UnreadableRequestError(f"the text has {len(tokens)} tokens; the model holds 1 to {self.limit}")
        return Passage(whole, 1)

    def passages(self, request: Request) -> list[Passage]:
        """Each choice after the prompt, or in the blank of a text that is not chat; see `ChoiceTokens`."""
        read = choice_tokens(
            self.render(request.messages),
            request.choices,
            self.tokens,
            in_blank=self.endpoint == "completions",
            whole_sentence=self.whole_sentence,
        )
        # Where the first token of all is scored, it follows the token that begins a text, as in `local/…`.
        before = () if read.shared else self._beginning("nothing comes before the choices")
        whole = [(*before, *tokens) for tokens in read.whole]
        longest = max(map(len, whole))
        if longest > self.limit + 1:  # the last token is read and not fed
            raise UnreadableRequestError(f"the prompt and a choice have {longest} tokens; the model holds {self.limit}")
        start = len(before) + read.shared
        if any(len(tokens) < start for tokens in whole):
            raise UnreadableRequestError("a choice has no token of its own after the prompt")
        return [Passage(tokens, start) for tokens in whole]


def load(
    name: str,
    *,
    endpoint: str = "chat",
    whole_sentence: bool = False,
    device: str | None = None,
    dtype: str | None = None,
) -> Checkpoint:
    """A folder of safetensors, a GGUF file, or 'smollm2'. Nothing is fetched: only what is on this machine is read.

    `device` None is the GPU where there is one; `dtype` None is bfloat16 there and float32 on a CPU.
    """
    place = _device(device or ("cuda" if torch.cuda.is_available() else "cpu"), f"hf/{name}")
    kind = dtype or ("float32" if place.type == "cpu" else "bfloat16")
    if kind not in _DTYPES:
        raise ModelError(f"hf/{name}: dtype must be one of {', '.join(_DTYPES)}, not {kind!r}")
    path = find_weights(name) if name in EMBEDDED else Path(name).expanduser()
    if path.is_file() and path.suffix == ".gguf":
        folder, extra, files = path.parent, {"gguf_file": path.name}, [path]
    elif (path / "config.json").is_file():
        folder, extra, files = path, {}, checkpoint_files(path, f"hf/{name}")
    else:
        raise ModelError(
            f"hf/{name}: neither a folder with a config.json nor a .gguf file; perpend fetches nothing from a hub,"
            " so download the checkpoint first and give its folder"
        )
    template = TemplateProcess("perpend.models.hf.template", f"hf/{name}") if endpoint == "chat" else None
    # Loading takes seconds, too few for a progress bar.
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers does not say
    data_only = {"local_files_only": True, "trust_remote_code": False, **extra}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **data_only)
        if template is not None:
            hand_over(template, tokenizer, f"hf/{name}")
        _check_size(AutoConfig.from_pretrained(folder, **data_only), files, f"hf/{name}")
        # The annotation of from_pretrained knows no report.
        loaded: tuple[PreTrainedModel, Mapping[str, Iterable[object]]] = AutoModelForCausalLM.from_pretrained(  # type: ignore[assignment]
            folder,
            dtype=_DTYPES[kind],
            use_safetensors=None if extra else True,
            output_loading_info=True,
            **data_only,
        )
    except _RAISED as error:
        raise ModelError(f"hf/{name}: cannot be loaded: {_reason(error)}") from None
    model, report = loaded
    lost = sorted(map(str, (*report["missing_keys"], *report["mismatched_keys"])))
    if lost:  # transformers would fill them with random numbers
        raise ModelError(f"hf/{name}: {len(lost)} weights are not in its files, as {lost[0]}; fetch it again")
    digests = {file.name: digest_file(file) for file in files}
    torch.nn.Module.to(model, place)
    torch.nn.Module.eval(model)
    return Checkpoint(model, tokenizer, digests, endpoint, whole_sentence, template, _closing(tokenizer))


def _device(text: str, name: str) -> torch.device:
    """The device of this name; SpecError, before anything is loaded, where this machine has none."""
    other = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    there = ["cpu", *(f"{other.type}:{n}" for n in range(torch.accelerator.device_count()) if other is not None)]
    try:
        device = torch.device(text)
    except RuntimeError:  # no word for a device at all
        device = torch.device("meta")
    if str(device).removesuffix(":0") not in {*there, *(one.removesuffix(":0") for one in there)}:
        raise SpecError(f"{name}: there is no device {text!r} here; this machine has: {', '.join(there)}")
    return device


def _closing(tokenizer: PreTrainedTokenizerBase) -> int:
    """How many tokens a tokenizer adds after a text, which a letter shows."""
    whole, bare = (tokenizer("a", add_special_tokens=added, verbose=False)["input_ids"] for added in (True, False))
    begins = [at for at in range(len(whole)) if whole[at : at + len(bare)] == bare]
    return len(whole) - len(bare) - begins[0] if bare and begins else 0


def token_limit(model: PreTrainedModel) -> int:
    """The most tokens that a model has positions for, by its configuration."""
    config = model.config.get_text_config()
    limits = (getattr(config, name, None) for name in _LIMITS)
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), UNLIMITED)


def _check_size(config: PreTrainedConfig, files: Sequence[Path], name: str) -> None:
    """Refuse a configuration that asks for far more than the files of weights hold: it would take all memory."""
    text = config.get_text_config()
    layers, width, inner, vocabulary = (
        value if isinstance(value := getattr(text, key, None), int) else 0
        for key in ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
    )
    # Each layer has a vector of the width; matrices are packed to a quarter of a byte per number at the least.
    most = 4 * sum(file.stat().st_size for file in files if file.name.endswith(WEIGHTS))
    if max(layers * max(width, 1), inner * width, vocabulary * width) > most:
        raise ModelError(f"{name}: its configuration is of a larger model than its weights; fetch both again")


def hand_over(template: TemplateProcess, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """Give a tokenizer's chat template to the process that renders it."""
    if tokenizer.chat_template is None:
        raise ModelError(f'{name} brings no chat template; set endpoint = "completions"')
    special: Mapping[str, object] = tokenizer.special_tokens_map
    variables: dict[str, JSON] = {
        key: [str(one) for one in value] if isinstance(value, list | tuple) else str(value)
        for key, value in special.items()
    }
    template.prepare({"template": tokenizer.get_chat_template(), "variables": variables})


def _reason(error: BaseException) -> str:
    """The first line of what transformers says; where it asks to trust the folder's code, what to do in its place."""
    text = str(error)
    if "trust_remote_code" in text:
        return (
            "it needs Python code of its own, which is never run; use an architecture that the installed transformers"
            " has, perhaps in a newer version of it"
        )
    return text.strip().partition("\n")[0] or type(error).__name__


def compiled(model: PreTrainedModel) -> None:
    """Fuse the small operations of each layer. Rounding stays where the model has it, so the numbers stay too."""
    if hasattr(torch.compiler.config, "dynamic_sources"):  # since torch 2.7
        # A layer's number is no reason to compile it anew.
        torch.compiler.config.dynamic_sources = r".*layer_idx"
    decoder = model.get_decoder()  # type: ignore[no-untyped-call]  # transformers does not say
    for layer in getattr(decoder, "layers", None) or decoder.h:
        layer.compile(dynamic=True, options={"emulate_precision_casts": True})
