# `make study` and `make test` each set up their own virtual environment and do their job.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STUDY ?= llm_gpt.yaml
STUDY_ARGS ?=
TEST_ARGS ?=

.PHONY: study test setup lint docs lock versions clean

study: $(VENV)/.run-ready  ## Run the study STUDY; its results go to runs/
	$(BIN)/python -m dse study $(STUDY) $(STUDY_ARGS)

test: $(VENV)/.test-ready  ## Run the tests
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist loadfile $(TEST_ARGS)

lint: $(VENV)/.test-ready  ## Format, lint and type checks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.docs-ready  ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

setup: $(VENV)/.test-ready  ## Set up the environment for development

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.run-ready: requirements/run.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(BIN)/python -m simcore compile
	@touch $@

$(VENV)/.test-ready: requirements/test.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(BIN)/python -m simcore compile
	@touch $@ $(VENV)/.run-ready

$(VENV)/.docs-ready: $(VENV)/.test-ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

lock:  ## Write the pinned requirements again from pyproject.toml
	$(BIN)/python -m pip install --quiet --upgrade pip-tools
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe --extra report -o requirements/run.txt pyproject.toml
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe --extra report --extra dev -o requirements/test.txt pyproject.toml

versions:  ## Try the lowest and the newest allowed versions on each Python at hand
	.ci/versions

clean:
	rm -rf $(VENV) .venv-versions site build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
