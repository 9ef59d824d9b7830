"""How a server is reached, how hard it may be pressed, and what of it must never be written down."""

from __future__ import annotations

import math
import os
import re
import urllib.request
from dataclasses import dataclass
from urllib.parse import urlsplit

from perpend.canon import clean_text
from perpend.errors import ModelError, SpecError
from perpend.spec.keys import Keys, keys_here

_ERROR_CHARS = 300
_READ_CHARS = 1 << 14
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Link:
    """How a server is reached and how hard it may be pressed."""

    base_url: str
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; None sends no key."""
    workers: int = 8
    """Requests in flight at once."""
    retries: int = 4
    """Further attempts after a failed one."""
    timeout_s: float = 120.0
    """For one attempt, from the first byte sent to the last byte read."""
    rpm: float | None = None
    """Requests per minute, retries included; None: no limit."""
    tpm: float | None = None
    """Tokens per minute, input and output; None: no limit."""
    backoff_s: float = 0.5
    """The longest first pause before a retry; it doubles with every further one."""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(str(self.base_url))
            is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_address = False
        if not is_address:
            raise SpecError("base_url must look like http://host:port/v1 or https://host/v1")
        if parts.username or parts.password or parts.query:
            raise SpecError("base_url must hold no user, password or query: name the key's variable in api_key_env")
        if self.api_key_env is not None and not _VARIABLE.fullmatch(str(self.api_key_env)):
            # The value is not shown: it may be the key itself.
            raise SpecError("api_key_env must be the name of an environment variable, not the key")
        for option, count, least in (("workers", self.workers, 1), ("retries", self.retries, 0)):
            if type(count) is not int or count < least:
                raise SpecError(f"{option} must be an integer of {least} or more, not {count!r}")
        limits = {"timeout_s": self.timeout_s, "rpm": self.rpm, "tpm": self.tpm, "backoff_s": self.backoff_s}
        for option, limit in limits.items():
            least_allowed = 0.0 if option == "backoff_s" else 1e-9
            if limit is not None and (type(limit) not in {int, float} or not least_allowed <= limit < math.inf):
                raise SpecError(f"{option} must be a number above 0, not {limit!r}")

    @property
    def base(self) -> str:
        """`base_url` without a slash at its end."""
        return self.base_url.rstrip("/")

    @property
    def root(self) -> str:
        """Where a server has what is not of OpenAI's protocol: `base_url` without '/v1'."""
        return self.base.removesuffix("/v1")

    def key(self) -> str | None:
        """The secret, read from the environment at the moment of use."""
        if self.api_key_env is None:
            return None
        key = os.environ.get(self.api_key_env, "").strip()
        if not key:
            raise ModelError(f"no API key: the environment variable {self.api_key_env} is not set; export it")
        if not key.isascii() or not key.isprintable():
            raise ModelError(f"the environment variable {self.api_key_env} holds characters that no key has")
        return key

    def keys(self) -> Keys:
        """What of the environment must not be written down."""
        return keys_here([self.api_key_env] if self.api_key_env else ())

    def proxy(self) -> str | None:
        """The proxy that the environment names for this server; none for the machine itself."""
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        if host in {"localhost", "::1"} or host.startswith("127.") or urllib.request.proxy_bypass(host):
            return None
        return urllib.request.getproxies().get(parts.scheme)

    def scrub(self, words: str) -> str:
        """One line of at most 300 characters without the server's address and without any key.

        Keys go before the text is cut, and what a first cut may have left of one goes too.
        """
        keys = self.keys()
        longest = _READ_CHARS + keys.longest
        is_cut = len(words) > longest
        words = keys.scrub_error(clean_text(words[:longest]))
        words = words[: -keys.longest or None] if is_cut else words
        host = urlsplit(self.base_url).hostname or ""
        words = re.sub(rf"(?<![\w.-])\[?{re.escape(host)}\]?(:\d+)?(?![\w-])", "<server>", words)
        words = " ".join(words.split())
        return words if len(words) <= _ERROR_CHARS else words[: _ERROR_CHARS - 1] + "…"
