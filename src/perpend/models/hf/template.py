"""The process that renders a checkpoint's chat template: transformers' own sandbox, within limits, without torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from perpend.canon import JSON, as_object
from perpend.models.template import RAISED, RefusedError, close_doors, limit_memory, serve

# What jinja2 and Python import when a template first needs it.
_EVERYTHING = (
    "{{ '\\n'|indent }}{{ 'a b'|wordwrap(1) }}{{ 1|pprint }}{{ 'a'|striptags }}{{ lipsum(n=1) }}"
    "{{ {}|tojson(indent=1) }}{{ strftime_now('%c %Z') }}"
    "{% for i in range(2) %}{% break %}{% endfor %}{{ raise_exception('') }}"
)


def main() -> None:
    """Answer until the input ends."""
    # Now, while the tokenizer is loaded: it takes most of a second, and later no file can be opened.
    with suppress(RefusedError):
        _rendered([], _EVERYTHING, {})
    serve(_prepare)


def _prepare(setup: Mapping[str, JSON]) -> Callable[[list[JSON]], str]:
    """The renderer of `template`, which sees the tokenizer's special tokens (`variables`) and the messages alone."""
    template, variables = str(setup["template"]), as_object(setup["variables"])
    limit_memory()
    close_doors()
    try:  # one that cannot be parsed is found now; whether it takes these messages does not matter
        _rendered([{"role": "user", "content": "?"}], template, variables)
    except RAISED as error:
        if isinstance(error, RefusedError) and error.is_damage:
            raise
    return lambda messages: _rendered(messages, template, variables)


def _rendered(messages: list[JSON], template: str, variables: Mapping[str, JSON]) -> str:
    from jinja2.exceptions import TemplateError, TemplateSyntaxError
    from transformers.utils.chat_template_utils import render_jinja_template

    transform: Callable[..., tuple[list[str], object]] = render_jinja_template  # type: ignore[assignment]  # it says str
    try:
        texts, _ = transform([messages], chat_template=template, add_generation_prompt=True, **variables)
    except TemplateError as error:
        raise RefusedError(str(error), is_damage=isinstance(error, TemplateSyntaxError)) from None
    return texts[0]
