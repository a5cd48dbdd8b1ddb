# Everything happens in a virtual environment in .venv; nothing is installed elsewhere.
#     make demo    fit the synthetic benchmark suite and write its audit to demo-audit/
#     make test    run the tests
#     make nightly   the properties with 1,000 random examples each (half an hour)
#     make plots   draw every display into docs/_build/plots/, to be looked at
#     make docs    build the documentation into docs/_build/html/
#     make links   ask every address that the documentation names (needs a network)
#     make lint    check style (ruff)
#     make types   check types (mypy)
#     make clean   remove the environment and everything built

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
PYTEST_ARGS ?=
# One thread per process: the tests already run in several processes.
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: help demo test nightly plots docs links lint types clean

help:
	@sed -n 's/^#     //p' Makefile

# pip comes last into an environment: its presence says that nothing is lacking.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; say: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) \
		|| { echo "On Debian: apt install python3-venv" >&2; exit 1; }

# Stamps: an unchanged pyproject.toml means that nothing has to be installed again.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/pip
	$(PIP) --editable '.[$*]'
	@touch $@

demo: $(VENV)/.installed-cli,plot,report
	$(BIN)/sklearn-mirt demo --out demo-audit --force
	@echo "The audit is in $(CURDIR)/demo-audit; open report.html"

test: $(VENV)/.installed-test
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

nightly: $(VENV)/.installed-test
	HYPOTHESIS_PROFILE=nightly $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) \
		-m hypothesis $(PYTEST_ARGS)

plots: $(VENV)/.installed-docs
	$(ONE_THREAD) MPLBACKEND=agg $(BIN)/python docs/contact_sheet.py docs/_build/plots

docs: $(VENV)/.installed-docs
	$(ONE_THREAD) MPLBACKEND=agg $(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html

links: $(VENV)/.installed-docs
	$(ONE_THREAD) $(BIN)/sphinx-build -q -b linkcheck -D plot_gallery=0 docs docs/_build/links

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-lint
	$(BIN)/mypy

clean:
	rm -rf docs/_build docs/auto_examples docs/generated $(VENV) build dist demo-audit .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
