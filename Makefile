# make run       start a site with demo data, web server and worker at http://127.0.0.1:8000
# make test      run the tests that need only Python; CRAWL=yes adds those that request every address of the site
# make test-all  run all tests, including those with a browser, services, real processes and other programs
# make docs      build the documentation site in build/docs, and fail on any warning
# All of them create a virtual environment if needed (.venv, or .venv-docs), and can be repeated.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOST ?= 127.0.0.1
PORT ?= 8000
PYTEST_ARGS ?=
NPM := $(shell command -v npm)
# All tests of a file run in one process, so that shared fixtures are built once.
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

.PHONY: run test test-all lint lint-types lint-code lint-static no-npm format format-static lock docs pictures bench bench-engine bench-edit clean help
help:
	@sed -n 's/^# //p' Makefile

run: $(VENV)/.runtime
	$(BIN)/python manage.py serve --demo --host $(HOST) --port $(PORT)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PARALLEL) -m "not (browser or service or process or foreign or gpu or real_model or long$(if $(CRAWL),, or crawl))" $(PYTEST_ARGS)

test-all: $(VENV)/.dev
	@sh tests/install_browser.sh
	$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

lint: lint-types lint-code

lint-types: $(VENV)/.dev
	$(BIN)/mypy

lint-code: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/djlint --lint --quiet templates
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check
	@$(MAKE) --no-print-directory $(if $(NPM),lint-static,no-npm)

# make lint-static   run only the checks of static/ (needs npm); `make lint` includes them if npm is installed
lint-static: node_modules/.installed
	$(NPM) run --silent lint

no-npm:
	@echo "static/ was not checked: npm is not installed. On Debian: sudo apt-get install npm"

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@$(if $(NPM),$(MAKE) --no-print-directory format-static)

format-static: node_modules/.installed
	$(NPM) run --silent format

node_modules/.installed: package-lock.json
	$(NPM) ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "LM Gym needs Python 3.11 or newer, for example: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		[ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); } || \
		{ rm -rf $(VENV); echo "Python's venv module is incomplete. On Debian: sudo apt-get install python3-venv"; exit 1; }

# torch is not locked, because its build (CPU, CUDA, ROCm) depends on the machine. An installed torch is kept.
TORCH ?= torch==2.13.*
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(VENV)/.runtime: requirements.txt pyproject.toml | $(BIN)/python
	$(PIP) "$(TORCH)"
	$(PIP) --require-hashes -r requirements.txt
	$(PIP) --no-deps --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.txt pyproject.toml | $(BIN)/python
	$(PIP) "$(TORCH)"
	$(PIP) --require-hashes -r requirements-dev.txt
	$(PIP) --no-deps --editable .
	@touch $@ $(VENV)/.runtime

# make lock           renew requirements.txt, requirements-dev.txt and requirements-docs.txt from the ranges in pyproject.toml
COMPILE_OPTIONS = --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock"
COMPILE = $(BIN)/uv pip compile pyproject.toml $(COMPILE_OPTIONS) --overrides $(VENV)/without-torch.txt
lock: $(VENV)/.dev
	$(PIP) "uv==0.13.*"
	@echo 'torch; python_version < "3"' > $(VENV)/without-torch.txt
	$(COMPILE) --upgrade --extra hf --extra site --group checkout --output-file requirements.txt
	$(COMPILE) --upgrade --extra all --group dev --constraints requirements.txt --output-file requirements-dev.txt
	$(BIN)/uv pip compile $(COMPILE_OPTIONS) --upgrade --group docs --output-file requirements-docs.txt

# The pages and their search work without a server; nothing in them comes from elsewhere.
docs: .venv-docs/.installed
	rm -rf build/docs
	.venv-docs/bin/sphinx-build --quiet --fail-on-warning --keep-going --conf-dir tools/docs_site --doctree-dir build/doctrees . build/docs
	@echo "the documentation site: build/docs/index.html"

.venv-docs/.installed: requirements-docs.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.txt
	@touch $@

# make pictures       take the pictures of README.md from a demo site; needs Chromium
pictures: $(VENV)/.dev
	@sh tests/install_browser.sh
	$(BIN)/python -m tools.pictures

# make bench-engine   compare the engine with minicons and lm-eval; takes hours (less with BENCH_ARGS="--suites 3 --rounds 3")
bench-engine: benchmarks/engine/requirements.txt requirements.txt
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check "$(TORCH)"
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/engine/requirements.txt
	.venv-bench/bin/python -m benchmarks.engine $(BENCH_ARGS)

# make bench-edit     measure the time from editing a cell to its result on a running site
bench-edit: $(VENV)/.dev
	$(BIN)/python -m benchmarks.edit $(BENCH_ARGS)

clean:
	rm -rf $(VENV) .venv-docs build node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
