# Two commands do all the set-up: `make demo` and `make test`. Everything goes into .venv, nothing elsewhere.
PYTHON ?= python3
BIN := .venv/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
LATEX := texlive-latex-base texlive-latex-recommended poppler-utils

.PHONY: demo test lint types unit chromium test-slow test-latex test-peers bench clean help

help:
	@echo "make demo    install, run three rankers on the bundled shop, and measure them"
	@echo "make test    install, then lint, types and tests"
	@echo "make test-slow   install, then the simulations that check error rates and coverage"
	@echo "make test-latex  install a LaTeX, then check that the tables compile"
	@echo "make test-peers  install the heavy tools and check dialects and arrays against them"
	@echo "make bench   install the peers and compare speed and memory; writes docs/benchmarks.md"
	@echo "make clean   remove the local environment and what was built"

demo: .venv/ready-charts
	@$(BIN)/python demo/rankers.py demo/out
	@$(BIN)/python demo/stages.py demo/out
	@$(BIN)/python demo/judge.py demo/out
	@$(BIN)/python demo/show.py

test: lint types unit

lint: .venv/ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-test
	$(BIN)/mypy

unit: .venv/ready-test chromium
	$(BIN)/pytest -n auto

# Pages are looked at in a browser; without one those tests are skipped, and say so.
chromium:
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	  (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1 || \
	  echo "no Chromium, and apt-get cannot install one: the tests of pages will be skipped"

test-slow: .venv/ready-test
	$(BIN)/pytest -m slow

test-latex: .venv/ready-test
	@command -v pdflatex >/dev/null || $(SUDO) apt-get install -y --no-install-recommends $(LATEX) || \
		{ echo "no pdflatex, and it cannot be installed here: install $(LATEX)"; exit 1; }
	$(BIN)/pytest -rs -m latex

test-peers: .venv/ready-peers
	$(BIN)/pytest -W ignore -rs tests/peers

bench: .venv/ready-bench
	$(BIN)/python bench/run.py

.venv/ready: pyproject.toml
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

.venv/ready-%: pyproject.toml .venv/ready
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

clean:
	rm -rf .venv demo/out bench/.data .mypy_cache .ruff_cache .pytest_cache .hypothesis
