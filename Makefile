# PYTHON: the interpreter that .venv is made from. ARGS: passed on to pytest or to the benchmark.
# JOBS: how many processes run the tests.
# KUBEBUILDER_ASSETS: a folder with etcd and kube-apiserver, used instead of .kube/bin.
PYTHON ?= python3
JOBS ?= 2
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo test kube prometheus e2e check fix docs bench bench-engine clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-14s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with the pinned tools and bayplan in it

$(STAMP): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "bayplan needs Python 3.11 or later, and '$(PYTHON)' is not that: name one, as in 'make setup PYTHON=python3.12'" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments: install its venv module (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@echo "setting up $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --requirement requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP) ## A cluster, a workload and bayplan at work on it, in less than a minute (ARGS=--serve stays)
	$(BIN)/bayplan demo $(ARGS)

test: $(STAMP) ## Run the tests (ARGS="-k taint" for some of them)
	$(BIN)/python -m pytest --numprocesses $(JOBS) $(ARGS)

kube: $(STAMP) ## Build etcd, Kubernetes 1.36.4 and helm into .kube/bin; takes minutes, once
	@tools/kube/build
	@tools/helm/build
	@tools/extender/build

prometheus: ## Unpack Debian's Prometheus into .kube/bin, for the tests of live data and of alerts
	@tools/prometheus/get

e2e: $(STAMP) ## Run the tests on a real API server; `make kube` gets it
	$(BIN)/python -m pytest -m e2e tests/e2e $(ARGS)

check: $(STAMP) ## Lint, format, types, import directions; changes nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fix: $(STAMP) ## Format, and mend what the linter can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(STAMP) ## Write the reference pages from the code, and the site into build/site
	$(BIN)/python tools/reference.py
	$(BIN)/python -m zensical build --strict

bench: $(STAMP) kube ## Time whole schedulers beside kube-scheduler (WORKLOADS, NODES, ROUNDS, MODES, OUT, FULL=1)
	$(BIN)/bayplan bench $(ARGS)

bench-engine: $(STAMP) ## Time the engine alone; JSON lines on stdout
	@$(BIN)/python -m bench.engine $(ARGS)

clean: ## Remove .venv, build output and caches
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find bench examples src tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
