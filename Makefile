# Everything happens in a virtual environment in .venv; nothing is installed elsewhere.
#     make demo    fit the synthetic benchmark suite and write its audit to demo-audit/
#     make test    run the tests
#     make test-quick  the tests that take under two seconds each (two minutes)
#     make nightly   the properties with 1,000 random examples each (some minutes)
#     make coverage  line and branch coverage (some minutes)
#     make mutants  change modules one operation at a time: do tests notice? (some minutes)
#     make plots   draw every display into docs/_build/plots/, to be looked at
#     make docs    build the documentation into docs/_build/html/
#     make links   ask every address that the documentation names (needs a network)
#     make lint    check style (ruff) and common security faults (bandit)
#     make pip-audit  known vulnerabilities of what is installed (needs the network)
#     make test-oldest  a reduced set on the oldest dependencies, in .venv-oldest
#     make types   check types (mypy)
#     make clean   remove the environment and everything built

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
PYTEST_ARGS ?=
OLDEST ?= .venv-oldest
# what touches the interfaces of numpy, scipy, scikit-learn, numba and pandas
OLDEST_TESTS = tests/data/test_responses.py tests/data/files/test_read.py \
	tests/models/test_item_bank.py tests/test_properties.py tests/estimators \
	tests/selection/test_selection_checks.py
# One thread per process: the tests already run in several processes.
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

.PHONY: help demo test test-quick nightly coverage mutants test-oldest plots docs links lint pip-audit types clean

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

test-quick: $(VENV)/.installed-test
	HYPOTHESIS_PROFILE=quick $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) \
		-m 'not slow' $(PYTEST_ARGS)

nightly: $(VENV)/.installed-test
	HYPOTHESIS_PROFILE=nightly $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) \
		-m hypothesis $(PYTEST_ARGS)

# Compiled code is not measured: the kernels run in Python, on what is small enough.
KERNEL_TESTS = tests/solvers/kernels/test_kernels.py \
	tests/solvers/kernels/test_backends_agree.py tests/estimators/test_baselines.py \
	tests/solvers/quadrature/test_likelihood.py \
	tests/data/shards/test_shards.py::test_a_shard_may_be_swept_in_blocks
COVERAGE = $(ONE_THREAD) $(BIN)/python -m coverage

coverage: $(VENV)/.installed-test
	$(COVERAGE) erase
	NUMBA_DISABLE_JIT=1 $(COVERAGE) run -m pytest -q --timeout 120 $(KERNEL_TESTS)
	$(COVERAGE) run -m pytest -q --timeout 600 $(PYTEST_ARGS)
	$(COVERAGE) combine -q
	$(COVERAGE) report --skip-covered --fail-under=97

mutants: $(VENV)/.installed-test,mutants
	rm -rf mutants
	$(ONE_THREAD) $(BIN)/mutmut run --max-children $(WORKERS)
	$(BIN)/mutmut results

# Compiled code is kept apart: another numba would throw away that of this one.
$(OLDEST)/.installed: pyproject.toml requirements/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		-c requirements/oldest.txt --editable '.[cli,parquet,fetch]' \
		pytest pytest-xdist hypothesis polars
	@touch $@

test-oldest: $(OLDEST)/.installed
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba $(ONE_THREAD) \
		$(OLDEST)/bin/python -m pytest -n $(WORKERS) $(OLDEST_TESTS)

plots: $(VENV)/.installed-docs
	$(ONE_THREAD) MPLBACKEND=agg $(BIN)/python docs/contact_sheet.py docs/_build/plots

docs: $(VENV)/.installed-docs
	$(ONE_THREAD) MPLBACKEND=agg $(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html

links: $(VENV)/.installed-docs
	$(ONE_THREAD) $(BIN)/sphinx-build -q -b linkcheck -D plot_gallery=0 docs docs/_build/links

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/bandit -q -r sklearn_mirt

pip-audit: $(VENV)/.installed-lint
	$(BIN)/pip-audit --local --skip-editable --output $(VENV)/audit.txt \
		|| { cat $(VENV)/audit.txt; exit 1; }
	@! grep "could not be audited" $(VENV)/audit.txt # else it asked nobody, and is content

types: $(VENV)/.installed-lint
	$(BIN)/mypy

clean:
	rm -rf docs/_build docs/auto_examples docs/generated $(VENV) $(OLDEST) build dist mutants demo-audit .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
