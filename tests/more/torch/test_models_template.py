"""Chat templates are programs of strangers: what they may take and do, and that honest ones come out alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from perpend.errors import ModelError
from perpend.models.base import UnreadableRequestError, spoken
from perpend.models.hf import model
from perpend.models.template import MEMORY
from perpend.types import Message
from tests.conftest import ROOT
from tests.more.torch.templates import BOMBS, process
from tests.more.torch.test_models_hf_provider import ask, checkpoint, question

ASKED = (Message("system", "Be brief."), Message("user", " Is 7 prime?\n"))
LLAMA = """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") if strftime_now is defined else "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- endif %}
{{- "<|system|>\n\n" + "Today: " + date_string + "\n\n" + system_message + "<|eot|>" }}
{%- for message in messages %}
    {{- '<|' + message['role'] + '|>\n\n' + message['content'] | trim + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|assistant|>\n\n' }}
{%- endif %}
"""
MARKED = (
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% set inner = 1 %}"
    "{% generation %}{{ m.content }}{% set inner = 2 %}{% endgeneration %}{{ inner }}{{ ns.n }}"
    "{{ m|tojson(indent=2) }}{% if loop.index == 2 %}{% break %}{% endif %}{% endfor %}"
    "{{ tools }}{{ documents }}{{ pad_token is defined }}{{ dict(a=1) }}"
)


@pytest.mark.parametrize("template", [LLAMA, MARKED], ids=["llama", "marked"])
def test_an_honest_template_renders_as_in_transformers(tmp_path: Path, template: str) -> None:
    checkpoint(tmp_path, template=template)
    theirs = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    expected = theirs.apply_chat_template(spoken(ASKED), add_generation_prompt=True, tokenize=False)
    assert model(str(tmp_path), device="cpu").checkpoint.render(ASKED) == expected


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_template_that_takes_too_much_stops_the_run_with_its_name(bomb: str) -> None:
    late = "{% if messages[0].content == 'now' %}" + bomb + "{% endif %}ok"
    made = process(late)
    assert made.render([Message("user", "not yet")]) == "ok"
    started = time.monotonic()
    with pytest.raises(
        ModelError, match=r"^hf/tiny: its chat template (?:took|wrote a text of) more than .*completions"
    ):
        made.render([Message("user", "now")])
    assert time.monotonic() - started < 30  # two or three seconds of a processor's time, on a busy machine more
    with pytest.raises(ModelError):
        made.render([Message("user", "after its death")])


def test_a_bomb_in_what_is_computed_when_a_template_is_parsed_is_found_on_loading() -> None:
    with pytest.raises(ModelError, match="hf/tiny: its chat template took more than"):
        process("{{ 'x' * 10**10 }}")
    with pytest.raises(ModelError, match="hf/tiny: its chat template cannot be used: .*end of statement block"):
        process("{% for %}")


def test_no_template_takes_the_memory_of_the_machine() -> None:
    code = (
        "import resource, sys\n"
        # Light: a child's peak begins at what its parent holds.
        "from tests.more.torch.templates import BOMBS, process\n"
        "from perpend.errors import ModelError\n"
        "for text in sys.argv[1:]:\n"
        "    try: process(BOMBS.get(text, text))\n"
        "    except ModelError: pass\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\n"
    )

    def largest(*templates: str) -> int:
        command = [sys.executable, "-c", code, *templates]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)

    honest = largest("hello")
    assert honest < 200
    assert largest("a string that doubles", "a width", "a list of lists", "a text") <= honest + (MEMORY >> 20)


def test_what_a_template_refuses_is_the_trial_s_error_and_the_others_are_answered(tmp_path: Path) -> None:
    template = (
        "{% if messages[0].content == 'no' %}{{ raise_exception('I do not talk of that') }}{% endif %}"
        "{% if messages[0].content == 'half' %}{{ '\\ud800' }}{% endif %}"
        "{% if messages[0].content == 'odd' %}{{ 1 + 'a' }}{% endif %}"
        "{% if messages[0].content == 'out' %}{{ ''.__class__.__mro__ }}{% endif %}"
        "{{ messages[0].content }}"
    )
    made = model(str(checkpoint(tmp_path, template=template)), device="cpu")
    given = ask(made, [question("no"), question("half"), question("odd"), question("out"), question("so")])
    assert given[0].error == "hf: the chat template refuses these messages: I do not talk of that"
    assert "half a surrogate pair" in (given[1].error or "")
    assert "TypeError" in (given[2].error or "")
    assert "'__class__' of 'str' object is unsafe" in (given[3].error or "")
    assert given[4].text is not None


def test_prompts_rendered_ahead_are_those_rendered_alone() -> None:
    made = process(
        "{% if messages[0].content == 'no' %}{{ raise_exception('no') }}{% endif %}<{{ messages[0].content }}>"
    )
    prompts = [[Message("user", text)] for text in ("a", "no", "b" * 2_000_000, "c")]
    made.render_ahead(prompts)
    for (message,) in prompts:
        if message.content == "no":
            with pytest.raises(UnreadableRequestError, match="refuses these messages: no"):
                made.render([message])
        else:
            assert made.render([message]) == f"<{message.content}>"


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_looping_template_neither_keeps_its_run_nor_outlives_it(end: signal.Signals) -> None:
    code = (
        "from tests.more.torch.templates import process\n"
        "from perpend.types import Message\n"
        "loop = '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}'\n"
        "made = process('{% if messages[0].content == \"go\" %}' + loop + '{% endif %}')\n"
        "print(made._process.pid, flush=True)\n"
        "made.render([Message('user', 'go')])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdout is not None
        child = int(run.stdout.readline())
        time.sleep(0.3)
        run.send_signal(end)
        assert run.wait(timeout=10) != 0
    deadline = time.monotonic() + 30
    while _is_running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(child)


def _is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


def test_behind_closed_doors_no_file_no_socket_and_no_process_can_be_had() -> None:
    code = (
        "import socket, subprocess\n"
        "from perpend.models.template import close_doors\n"
        "close_doors()\n"
        "tries = [lambda: open('/etc/hostname'), socket.socket, lambda: subprocess.run(['true'])]\n"
        "for each in tries:\n"
        "    try: each()\n"
        "    except OSError: print('closed')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["closed"] * 3


def test_the_process_ends_with_whoever_asked() -> None:
    made = process("{{ messages[0].content }}")
    pid = made._process.pid
    assert _is_running(pid)
    del made
    assert not _is_running(pid)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
