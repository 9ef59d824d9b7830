"""Chat templates that take too much, and the process that renders: without what takes long to import."""

from __future__ import annotations

from perpend.models.template import TemplateProcess

BOMBS = {
    "a loop in a loop": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a macro that calls itself twice": (
        "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}"
    ),
    "one long string": "{{ 'x' * 10**10 }}",
    "a string that doubles": (
        "{% set ns = namespace(x='xxxx') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}"
    ),
    "a width": "{{ '%1000000000d' % messages|length }}",
    "a filter's width": "{{ 'x'|center(10**10) }}",
    "an indent": "{{ messages|tojson(indent=10**10) }}",
    "a product of integers": "{% set n = messages|length + 9 %}{{ (n ** (n ** 8)) % 7 }}",
    "a list of lists": "{{ range(3)|slice(10**9)|list }}",
    "a text": "{% for i in range(3000) %}{{ 'x' * 10000 }}{% endfor %}",
}


def process(template: str, **variables: str) -> TemplateProcess:
    made = TemplateProcess("perpend.models.hf.template", "hf/tiny")
    made.prepare({"template": template, "variables": variables})
    return made
