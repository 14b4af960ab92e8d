# Everything here needs only Python >= 3.11 (with pip), make, and a package index. `make` alone lists the targets.
#
# The packages live in .venv. `PYTHON=python3.12 make test` works in .venv-python3.12 beside it, so both stay ready.

ifeq ($(origin PYTHON), undefined)
PYTHON := python3
VENV := .venv
else
VENV := .venv-$(notdir $(PYTHON))
endif

BIN := $(VENV)/bin
WORKERS ?= 2
# Each test worker keeps to one thread: threads of BLAS inside parallel workers only fight for the same cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Real weights, once `make weights` has got them; without, the slow tests that want them are skipped.
ifneq ($(wildcard weights),)
export SELFTAUGHT_WEIGHTS ?= $(CURDIR)/weights
endif
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test test-slow test-all lint examples bench weights clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/.has-plot  ## the embedded example: seconds, ends with a report to open
	$(BIN)/selftaught demo

test: $(VENV)/.has-test  ## the daily suite
	$(PYTEST) -m "not slow"

test-slow: $(VENV)/.has-test  ## the slow tests alone (pytest leaves with 5 when there are none: in order here)
	$(PYTEST) -m slow || [ $$? -eq 5 ]

test-all: $(VENV)/.has-test  ## the daily suite and the slow tests
	$(PYTEST)

lint: $(VENV)/.has-test $(VENV)/.has-lint  ## style, formatting and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

examples: $(VENV)/.has-test  ## run the code of README, docs, docstrings and examples/
	$(PYTEST) -q tests/test_documented_examples.py
	@set -e; for script in $(sort $(wildcard examples/*.py)); do \
	    echo "$$script"; $(ONE_THREAD) MPLBACKEND=Agg $(BIN)/python -W error "$$script"; done

bench: $(VENV)/.has-bench  ## speed and memory, each against a peer in the same run
	@set -e; for script in $(sort $(wildcard benchmarks/bench_*.py)); do echo "$$script"; $(BIN)/python "$$script"; done

weights: $(BIN)/python  ## get the weights that benchmarks and slow tests run on (280 MB)
	$(BIN)/python benchmarks/get_weights.py weights

clean:  ## remove environments and everything generated
	rm -rf .venv .venv-* .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp for each set of extras, renewed when pyproject.toml changes; the package itself is installed editable.
$(VENV)/.has-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "selftaught needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] + "; name another: PYTHON=python3.12 make ...")'
	$(PYTHON) -m venv $(VENV)
