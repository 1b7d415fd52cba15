# `make study` and `make test` each set up their own virtual environment and do their job.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STUDY ?= llm_gpt.yaml
STUDY_ARGS ?=
# Folders whose files run whole studies come first: begun last, one of them would hold up the end.
FIRST := $(addprefix tests/,unit/dse faults property golden)
TEST_ARGS ?= $(FIRST) $(filter-out $(FIRST) tests/unit tests/support %.txt %/__pycache__,$(wildcard tests/* tests/unit/*))
COVERAGE_TESTS ?= tests
# Many tests wait for processes of their own: half as many workers again as cores keep these busy.
CORES := $(shell getconf _NPROCESSORS_ONLN)
WORKERS ?= $(shell echo $$(( $(CORES) < 6 ? ($(CORES) * 3 + 1) / 2 : 8 )))

# Some of the tests that run kernels: quick enough without the compiler, and without measured data
# that a checkout may lack. What is left out by name takes minutes so, and reaches few lines more or none;
# `make test` runs all of it. Hashes wrap around, of which numpy warns where compiled code does not.
LONG := test_a_flow_alone or ring_that_is_stuck or beyond_64_bits or params24 or come_near_exact or cables_of_unlike \
	or test_latency_makes or test_named_algorithms or made_for_the_npus or limits_of_switches or run_backwards \
	or no_rail_carries or halve_the_bytes or do_not_wait_for_one_cable or do_not_add_up or picture_is_written \
	or (test_kinds and (flit or flow or packet or contention or (cnn and congestion))) \
	or test_other_routers \
	or (test_flit_networks and (steady or stage or throughput or lone or load))
INTERPRETED := NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto --maxprocesses 8 \
	-W "ignore:overflow encountered:RuntimeWarning" -k "not ($(LONG))" \
	$(addprefix tests/unit/kernels/test_,class_memo.py event_order.py hashed_set.py extremes.py \
	slots_and_streams.py pointers.py written_programs.py) tests/unit/packets/test_times.py tests/unit/flits \
	tests/unit/synthesis tests/unit/bounds tests/unit/flows tests/unit/graphs/test_structure.py \
	tests/unit/graphs/test_routing.py tests/conformance/test_kinds.py \
	tests/oracles/test_systolic_against_plain_arrays.py \
	$(addprefix tests/unit/engines/test_,phases.py tree_phase.py) \
	$(addprefix tests/unit/formats/test_,chakra_read.py astra_exact_cases.py)
COVERED := build/coverage.json

# What Python and pytest compile is kept: else each of hundreds of processes compiles what it imports,
# and each worker every test anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: study test setup lint docs interpreted fuzz coverage lock versions clean

study: $(VENV)/.run-ready  ## Run the study STUDY; its results go to runs/
	$(BIN)/python -m dse study $(STUDY) $(STUDY_ARGS)

test: $(VENV)/.test-ready  ## Run the tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(TEST_ARGS)

lint: $(VENV)/.test-ready  ## Format, lint and type checks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.docs-ready  ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

interpreted: $(VENV)/.test-ready  ## Run tests of the kernels as plain Python, and tell which lines they reach
	$(INTERPRETED) --cov=simcore/kernels --cov-report=json:$(COVERED)
	$(BIN)/python .ci/covered.py $(COVERED) --least 75

fuzz: $(VENV)/.test-ready  ## Feed damaged files to everything that reads one
	$(BIN)/python benchmarks/fuzz.py --mutants 2000 --seed 0

coverage: $(VENV)/.test-ready  ## Tell by package which lines the tests reach; of kernels, those of `make interpreted`
	$(BIN)/python -m pytest -n auto --maxprocesses 8 --dist loadfile --cov --cov-report= $(COVERAGE_TESTS)
	$(INTERPRETED) --cov --cov-append --cov-report=json:$(COVERED)
	$(BIN)/python .ci/covered.py $(COVERED)

setup: $(VENV)/.test-ready  ## Set up the environment for development

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.run-ready: requirements/run.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(BIN)/python -m simcore compile
	$(BIN)/python -m compileall -q dse  # which Python may be told not to keep by itself
	@touch $@

$(VENV)/.test-ready: requirements/test.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	$(BIN)/python -m simcore compile --all
	$(BIN)/python -m compileall -q dse
	@touch $@ $(VENV)/.run-ready

$(VENV)/.docs-ready: requirements/docs.txt $(VENV)/.test-ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	@touch $@

lock:  ## Write the pinned requirements again from pyproject.toml
	$(BIN)/python -m pip install --quiet --upgrade pip-tools
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe --extra report -o requirements/run.txt pyproject.toml
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe --extra report --extra dev -o requirements/test.txt pyproject.toml
	$(BIN)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe --extra docs --constraint requirements/test.txt -o requirements/docs.txt pyproject.toml

versions:  ## Try the wheel with the lowest and the newest allowed versions on each Python at hand
	.ci/versions

clean:
	rm -rf $(VENV) .venv-versions site build dist .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
