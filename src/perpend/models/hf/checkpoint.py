"""A checkpoint on this machine: its weights, its tokenizer, and what identifies them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from perpend.canon import digest, digest_file
from perpend.errors import ModelError
from perpend.models.base import BLANK, UnreadableRequestError, choice_tokens, plain_text, spoken
from perpend.models.hf.candidates import Weigher
from perpend.models.hf.forest import Passage
from perpend.models.local.weights import EMBEDDED, find_weights
from perpend.types import Message, Request

_WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt")
_TEXTS = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model with its tokenizer. `files` are the digests of what was loaded, by file name."""

    model: PreTrainedModel = field(repr=False)
    tokenizer: PreTrainedTokenizerBase = field(repr=False)
    files: dict[str, str]
    endpoint: str = "chat"
    whole_sentence: bool = False

    @property
    def limit(self) -> int:
        """The most tokens that the model has positions for."""
        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        return limit if isinstance(limit, int) else 1 << 30

    @property
    def ends(self) -> frozenset[int]:
        """The tokens that end an answer."""
        ends = self.model.generation_config.eos_token_id
        ends = self.tokenizer.eos_token_id if ends is None else ends
        return frozenset(() if ends is None else [ends] if isinstance(ends, int) else ends)

    def fingerprint(self) -> dict[str, str]:
        """Digests of weights and texts, the versions of the libraries, the precision, and how messages are fed."""
        weights = {name: sha256 for name, sha256 in self.files.items() if name.endswith(_WEIGHTS)}
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
        return str(self.tokenizer.apply_chat_template(spoken(messages), add_generation_prompt=True, tokenize=False))

    def fed_sha256(self, request: Request) -> str:
        """SHA-256, in hex, of the text that the model reads before it answers, or before a choice."""
        text = self.render(request.messages)
        if request.choices and self.endpoint == "completions":
            text = text.partition(BLANK)[0]
        return hashlib.sha256(text.encode()).hexdigest()

    def tokens(self, text: str) -> tuple[int, ...]:
        """The tokens of a rendered text. A chat template writes its own beginning; a plain text gets one here."""
        tokens = self.tokenizer(text, add_special_tokens=self.endpoint == "completions", verbose=False)["input_ids"]
        if not tokens and self.tokenizer.bos_token_id is not None:
            tokens = [self.tokenizer.bos_token_id]
        return tuple(tokens)

    def prompt(self, request: Request) -> tuple[int, ...]:
        """The tokens to continue. A prompt that leaves no room for `max_tokens` is an error, never cut."""
        tokens = self.tokens(self.render(request.messages))
        need = len(tokens) + request.sampling.max_tokens
        if need > self.limit:
            raise UnreadableRequestError(
                f"the prompt has {len(tokens)} tokens and the answer may have {request.sampling.max_tokens};"
                f" the model holds {self.limit}"
            )
        return tokens

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
        longest = max(map(len, read.whole))
        if longest > self.limit + 1:  # the last token is read and not fed
            raise UnreadableRequestError(f"the prompt and a choice have {longest} tokens; the model holds {self.limit}")
        start = max(1, read.shared)
        if any(len(tokens) < start for tokens in read.whole):
            raise UnreadableRequestError("a choice has no token of its own after the prompt")
        return [Passage(tokens, start) for tokens in read.whole]


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
    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    kind = dtype or ("float32" if place == "cpu" else "bfloat16")
    if kind not in _DTYPES:
        raise ModelError(f"hf/{name}: dtype must be one of {', '.join(_DTYPES)}, not {kind!r}")
    path = find_weights(name) if name in EMBEDDED else Path(name).expanduser()
    if path.is_file() and path.suffix == ".gguf":
        folder, extra, files = path.parent, {"gguf_file": path.name}, [path]
    elif (path / "config.json").is_file():
        folder, extra = path, {}
        files = sorted(file for file in path.iterdir() if file.suffix in _WEIGHTS or file.name in _TEXTS)
    else:
        raise ModelError(
            f"hf/{name}: neither a folder with a config.json nor a .gguf file; perpend fetches nothing from a hub,"
            " so download the checkpoint first and give its folder"
        )
    # Loading takes seconds, too few for a progress bar.
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers does not say
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **extra)
        model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=_DTYPES[kind], **extra)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"hf/{name}: cannot be loaded: {str(error).splitlines()[0]}") from None
    if endpoint == "chat" and tokenizer.chat_template is None:
        raise ModelError(f'hf/{name} brings no chat template; set endpoint = "completions"')
    digests = {file.name: digest_file(file) for file in files}
    torch.nn.Module.to(model, place)
    torch.nn.Module.eval(model)
    return Checkpoint(model, tokenizer, digests, endpoint, whole_sentence)


def compiled(model: PreTrainedModel) -> None:
    """Fuse the small operations of each layer. Rounding stays where the model has it, so the numbers stay too."""
    decoder = model.get_decoder()  # type: ignore[no-untyped-call]  # transformers does not say
    for layer in getattr(decoder, "layers", None) or decoder.h:
        layer.compile(dynamic=True, options={"emulate_precision_casts": True})


def weigher(model: PreTrainedModel, batch_tokens: int) -> Weigher:
    """A Weigher that uses trees where the model really follows them, which trying a small one shows.

    Two passages with one beginning are scored as a tree and alone; and alone with the other passage before them, which
    is what a model would see that ignores the mask. Trees are used when they come closer to the first by ten times.
    """
    vocabulary = model.config.get_text_config().vocab_size
    at = [(7 * n * n + 3 * n + 1) % vocabulary for n in range(12)]
    first, second = Passage((*at[:4], *at[4:8]), 4), Passage((*at[:4], *at[8:12]), 4)
    behind = Passage((*at[:8], *at[8:12]), 8)
    plain = Weigher(model, batch_tokens, trees=False, window=_window(model))
    alone, misled = plain.logprobs([[second]])[0][0], plain.logprobs([[behind]])[0][0]
    try:
        tree = Weigher(model, batch_tokens).logprobs([[first, second]])[0][1]
    except (RuntimeError, TypeError, ValueError):  # what models raise that take no such mask or no positions
        return plain
    if alone is None or misled is None or tree is None:
        return plain
    plain.trees = bool(10 * abs(tree - alone).max() <= abs(misled - alone).max())
    return plain


def _window(model: PreTrainedModel) -> int | None:
    """How far back the layer of shortest reach can see; None where every layer sees everything."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None)
    if kinds is not None and not any("sliding" in kind for kind in kinds):
        return None
    return window if isinstance(window, int) and getattr(config, "use_sliding_window", True) else None
