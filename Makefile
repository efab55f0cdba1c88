# make run       a working site at http://127.0.0.1:8000 with demo data (web and worker together)
# make test      the tests that need nothing but Python
# make test-all  all tests: with a browser, services, real processes and other programs, too
# All make their own virtual environment in .venv and are safe to repeat.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOST ?= 127.0.0.1
PORT ?= 8000
PYTEST_ARGS ?=
# A file stays in one process, which builds what its tests share once.
PARALLEL := -n auto --dist loadfile --no-loadscope-reorder

.PHONY: run test test-all lint format lock bench bench-engine bench-edit clean help
help:
	@sed -n 's/^# //p' Makefile

run: $(VENV)/.runtime
	$(BIN)/python manage.py serve --demo --host $(HOST) --port $(PORT)

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PARALLEL) -m "not (browser or service or process or foreign or gpu)" $(PYTEST_ARGS)

test-all: $(VENV)/.dev
	@sh tests/install_browser.sh
	$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "LM Gym needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		[ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); } || \
		{ rm -rf $(VENV); echo "Python's venv module is not complete. On Debian: sudo apt-get install python3-venv"; exit 1; }

# The locks leave torch out: which build is right (CPU, CUDA, ROCm) depends on the machine. One that is installed stays.
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

# make lock           renew requirements.txt and requirements-dev.txt from the ranges in pyproject.toml
COMPILE = $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" --overrides $(VENV)/without-torch.txt
lock: $(VENV)/.dev
	$(PIP) "uv==0.13.*"
	@echo 'torch; python_version < "3"' > $(VENV)/without-torch.txt
	$(COMPILE) --upgrade --extra hf --extra site --group checkout --output-file requirements.txt
	$(COMPILE) --upgrade --all-extras --group dev --constraints requirements.txt --output-file requirements-dev.txt

# make bench-engine   the engine beside minicons and lm-eval; long (BENCH_ARGS="--suites 3 --rounds 3" for less)
bench-engine: benchmarks/engine/requirements.txt requirements.txt
	@test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check "$(TORCH)"
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/engine/requirements.txt
	.venv-bench/bin/python -m benchmarks.engine $(BENCH_ARGS)

# make bench-edit     from an edited cell to its result, through the running site
bench-edit: $(VENV)/.dev
	$(BIN)/python -m benchmarks.edit $(BENCH_ARGS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
