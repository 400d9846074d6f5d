# Biodesk. `make help` lists the targets. Every target sets up what it needs, once.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do command -v $$p >/dev/null 2>&1 && \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8501
# One more than there are processors: tests wait for the programs they start.
JOBS ?= $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')
.DEFAULT_GOAL := help
# Where it is set, every process compiles some 750 modules anew: seconds for each command, and tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations=25
COVERAGE := --cov=engine --cov=storage --cov-branch --cov-report=term:skip-covered
.PHONY: run test test-all coverage demo bench models planner claims router help lock check clean

run: $(VENV)/.ready  ## Start the app on http://127.0.0.1:8501
	@$(BIN)/biodesk serve --port $(PORT)

demo: $(VENV)/.ready  ## Answer a built-in question without the browser; prints where report and notebook are
	@$(BIN)/biodesk demo --out demo-output

test: $(VENV)/.ready-test check  ## Lint, types, import rules, then every test
	@$(PYTEST) -m "not slow"

test-all: $(VENV)/.ready-test check  ## The same with the tests that take minutes, and which branches they take
	@$(PYTEST) $(COVERAGE)

coverage: $(VENV)/.ready-test  ## The tests of `make test`, and which branches they take; twice as long
	@$(PYTEST) $(COVERAGE) -m "not slow"

check: $(VENV)/.ready-test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/basedpyright --level error
	@$(BIN)/lint-imports

bench: $(VENV)/.ready-test  ## Measure against bare scripts and peers; JSON under benchmarks/results/
	@$(BIN)/python -m benchmarks

planner: $(VENV)/.ready  ## Train the chooser from the example questions
	@$(BIN)/python scripts/train_planner.py

router: $(VENV)/.ready  ## Train the router of strategies from its example tasks
	@$(BIN)/python scripts/train_router.py

claims: $(VENV)/.ready  ## Train the readers of claims from their sentences
	@$(BIN)/python scripts/train_claims.py

models: $(VENV)/.ready  ## Install LiteLLM, for models of providers that do not speak the OpenAI protocol
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-models.lock

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

lock: $(VENV)/.ready-test  ## Write the lock files from what is installed
	@$(BIN)/python scripts/lock.py

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis benchmarks/results

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Biodesk needs Python 3.11 or newer; none was found. Install it, or run: make PYTHON=/path/to/python3.11 run" >&2; exit 1; }
	@echo "Making the environment with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV) || { echo "The environment could not be made. On Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/.ready: requirements.lock pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python scripts/install.py requirements.lock
	@touch $@

$(VENV)/.ready-test: requirements-test.lock requirements.lock pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python scripts/install.py requirements-test.lock
	@touch $(VENV)/.ready $@
