"""Prompts as the conformity study stores them: their hash, and the templates that rendered prompts came from."""

from __future__ import annotations

import json
from dataclasses import dataclass

from perpend.ask.conditions import template
from perpend.canon import JSON, digest
from perpend.disk import temporary_folder
from perpend.errors import SpecError
from perpend.types import Condition, Item


@dataclass(frozen=True, slots=True)
class Rendered:
    """One rendered prompt and the item that it was rendered from."""

    item: Item
    system: str
    user: str


def rendered_prompt_hash(system: str, user: str, history: JSON = ()) -> str:
    """The study's hash of a prompt: SHA-256 of the compact JSON of system, user and history, keys sorted."""
    return digest({"system": system, "user": user, "history": history})


def condition_of(name: str, system: str | None, user: str) -> Condition:
    """The condition with these two texts, read as a template file is; SpecError for an unknown placeholder."""
    with temporary_folder("template") as folder:
        path = folder / "template.toml"
        path.write_text(template_text(name, system, user), encoding="utf-8")
        return template(path)


def render(condition: Condition, item: Item) -> tuple[str, str]:
    """(system, user) as the study stores them; no system message is an empty text there."""
    *system, user = condition.render(item)
    return "".join(message.content for message in system), user.content


def derived(name: str, example: Rendered) -> Condition | None:
    """The condition that an example shows when its question and decoy become placeholders; None if it has none.

    A short decoy can stand in the fixed words by accident: take the example with the longest, and compare with others.
    """
    system, user = (_marked(text, example.item) for text in (example.system, example.user))
    try:
        return condition_of(name, system or None, user)
    except SpecError:
        return None


def template_file(condition: Condition) -> str:
    """A condition as a template file that reads back as the same prompts."""
    system, user = condition.params.get("system"), condition.params.get("user")
    return template_text(condition.name, None if system is None else str(system), str(user))


def template_text(name: str, system: str | None, user: str) -> str:
    """The words of a template file."""
    lines = {"name": name, "system": system, "user": user}
    return "".join(f"{key} = {toml(value)}\n" for key, value in lines.items() if value is not None)


def toml(text: str) -> str:
    """A text as a TOML string. JSON writes it the same way, but leaves U+007F as it is, which TOML forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _marked(text: str, item: Item) -> str:
    parts = text.split(item.prompt)
    if item.decoy:
        parts = [part.replace(item.decoy, "{decoy}") for part in parts]
    return "{question}".join(parts)
