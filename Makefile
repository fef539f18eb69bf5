# `make` alone prints what there is. Everything runs in .venv, made from a hash-locked list.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed-$(shell cat requirements/all.lock pyproject.toml | cksum | cut -d' ' -f1)
ONCE ?=
REPORT ?=
# one more than cores: a test that waits for a server or a serial line leaves room for another
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: help demo test lint format bench oracles system-deps lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

$(STAMP): requirements/all.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Headwall needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; try: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	@echo "Setting up $(VENV) (about two minutes the first time) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar on --require-hashes --quiet -r requirements/all.lock
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps -e .
	@rm -f $(VENV)/.installed-*; touch $@

setup: $(STAMP) ## only set up .venv

demo: $(STAMP) ## a village's construction sites in a storm, from tip to mail (ONCE=1 REPORT=FILE.json: run once, exit)
	@$(BIN)/headwall demo $(if $(ONCE),--once) $(if $(REPORT),--report $(REPORT))

lint: $(STAMP) ## ruff and mypy strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(STAMP) ## let ruff lay the code out
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

test: lint ## lint, then all tests; parts missing here make their tests skip and are named at the end
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)
	@echo "Then: \`make demo\` shows the main job; docs/contributor.md says how to change something."

bench: $(STAMP) ## the benchmarks, each beside its peer in the same run
	@for b in tools/bench/bench_*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

oracles: $(STAMP) ## compare the hydrology with independent programs, installed beside for it
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet -r requirements/oracles.txt
	@$(BIN)/pytest $(PYTEST_ARGS) host_tests/system/test_oracles.py

system-deps: ## install mosquitto, Chromium, PostgreSQL (Debian packages) and build InfluxDB into the cache
	@tools/system_deps.sh

lock: ## resolve requirements/all.lock anew (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --all-extras pyproject.toml -o requirements/all.lock

clean: ## remove what make made in this folder
	rm -rf $(VENV) demo-run build .pytest_cache .mypy_cache .ruff_cache .hypothesis gateway/*.egg-info
