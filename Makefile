# The front door. Every target does its own set-up; Python 3.11+ and make are all that is needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
URL    ?=
ARGS   ?=

.PHONY: help crawl serve test check fix bench requirements lock clean

help: ## what there is to do
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

crawl: $(VENV)/ready ## crawl a site: make crawl URL=https://example.com/ [ARGS="--max-pages 100"]
	@test -n "$(URL)" || { echo 'which site? say: make crawl URL=https://example.com/' >&2; exit 2; }
	@$(BIN)/nephila crawl $(URL) $(ARGS)

serve: $(VENV)/ready ## serve the API with workers: make serve [ARGS="--port 3000 --data DIR"]
	@$(BIN)/nephila serve $(ARGS)

# More than the cores: tests of a cluster wait most of their time, for leases that run out and servers that come back.
test: $(VENV)/dev-ready ## run every test
	$(BIN)/python -m pytest -n $$(( $$(nproc) + 1 )) --dist loadgroup $(ARGS)

check: $(VENV)/dev-ready ## format check, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fix: $(VENV)/dev-ready ## format, and repair what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/dev-ready ## print the benchmarks (see bench/README.md)
	$(BIN)/python -m bench $(ARGS)

requirements: $(VENV)/dev-ready ## list the ids of requirements.md that tests prove
	@$(BIN)/python -m pytest --collect-only -q -p no:xdist --proven-requirements tests

lock: $(VENV)/dev-ready ## pin the dependencies anew (versions and hashes, no addresses)
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --upgrade pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --upgrade pyproject.toml --group dev -o requirements-dev.lock

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Nephila needs Python 3.11 or later: make PYTHON=python3.12 ...' >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/ready: requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo 'installing into $(VENV) ...' >&2
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/dev-ready: requirements-dev.lock | $(VENV)/ready
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

clean: ## remove what was installed and cached here (never a crawl's data)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
