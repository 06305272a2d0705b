# Two commands do all the set-up on a fresh machine with Python 3.11 or later: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# Three workers more than the cores of a small machine: many tests wait for processes and browsers of their own.
TEST_ARGS ?= -n 5 --dist worksteal
# Some containers forbid Python to keep what it has compiled; then each of the tests' many processes would compile every package anew.
unexport PYTHONDONTWRITEBYTECODE
# The workers fill the cores; threads of the linear algebra in each would only wait for each other.
export OPENBLAS_NUM_THREADS = 1

# What `make check` runs: structure, models, spatial algebra, closed forms, energy, recordings, folders of runs.
FAST_TESTS = $(wildcard \
	tests/model tests/library tests/project/test_architecture.py tests/formats/test_schema.py tests/formats/test_yaml.py \
	tests/consistency/test_spatial.py tests/consistency/test_dynamics.py tests/verification/test_textbook.py \
	tests/verification/test_closed_forms.py tests/verification/test_added_mass.py tests/verification/test_drag.py \
	tests/verification/test_thrusters.py tests/verification/test_energy_audit.py tests/scenarios/test_recording.py \
	tests/cli/test_run_folders.py tests/cli/test_compare.py)

.PHONY: demo train check test test-mesh style lint docs notebooks docs-tables docs-times evidence crosscheck dist try-wheel clean

demo: $(VENV)/run
	$(BIN)/hydromechs demo

# Teaches a vehicle to keep its place, in a minute or two; the first time it installs PyTorch.
train: $(VENV)/learn
	$(BIN)/python examples/train_station_keeping.py --out out/station_keeping

# Before every commit: about a minute on two cores.
check: lint
	$(BIN)/pytest $(TEST_ARGS) $(FAST_TESTS)

# Before every merge: everything. Types are among the tests, beside the others.
test: style
	$(BIN)/python -m compileall -q src  # once, not in every worker
	$(BIN)/pytest $(TEST_ARGS)

# Added mass from boundary elements against closed forms, in a separate environment: Capytaine 3.0 needs pandas below 3, and
# the other tests use the latest pandas.
test-mesh:
	$(MAKE) VENV=$(VENV)-mesh $(VENV)-mesh/mesh
	$(VENV)-mesh/bin/python -m pytest tests/crosscode/test_panels.py

style: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint: style
	$(BIN)/mypy

# The documentation site, in site/: no warnings, no links that lead nowhere, twenty tasks within two clicks.
docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/site/check_site.py site

# Runs the notebooks and keeps what they print and draw; their programs are docs/notebooks/*.py.
notebooks: $(VENV)/docs
	$(BIN)/python docs/notebooks/make_notebooks.py

# Rewrites the tables of the documentation: counts anew, times from the reports in docs/data.
docs-tables: $(VENV)/dev
	$(BIN)/python docs/make_tables.py

# Measures the times anew first, some three minutes on a machine that does nothing else; add gpu where there is one.
docs-times: $(VENV)/dev
	$(BIN)/python docs/make_tables.py --measure dynamics papers

# All long studies, some hours, on one page: evidence/evidence.md.
evidence: $(VENV)/dev
	$(BIN)/python -m benchmarks evidence

crosscheck: $(VENV)/dev
	$(BIN)/hydromechs crosscheck --trees 1000

# Wheel and source distribution, into dist/, with the JSON Schemas of all files.
dist: $(VENV)/run
	rm -rf dist
	$(BIN)/python -m pip install --quiet build
	mkdir -p src/hydromechs/schemas
	set -e; for kind in model scenario sweep validation; do \
	$(BIN)/hydromechs schema $$kind > src/hydromechs/schemas/$$kind.schema.json; done
	$(BIN)/python -m build --quiet --outdir dist

# The wheel in an empty environment of $(PYTHON), away from the sources: the demo and the Python blocks of the README.
try-wheel:
	set -e; folder=$$(mktemp -d); trap "rm -rf $$folder" EXIT; \
	$(PYTHON) -m venv $$folder/venv; \
	$$folder/venv/bin/python -m pip install --quiet dist/*.whl; \
	cp tests/project/run_blocks.py README.md $$folder; \
	cd $$folder; venv/bin/hydromechs demo; venv/bin/python run_blocks.py README.md

clean:
	rm -rf $(VENV) $(VENV)-mesh site dist .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "HydroMechs needs Python 3.11 or later; give one with make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# uv installs in a fraction of pip's time; where it cannot, pip does. Python compiles what is used, when it is.
install = { $(BIN)/python -m pip install --quiet uv && $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '$(1)'; } \
	|| $(BIN)/python -m pip install --quiet --no-compile --editable '$(1)'

# Most robot files of others have Collada meshes or xacro macros; both readers are small.
runtime = .[collada,xacro]

# Marks that the packages for running, and for developing, are installed as pyproject.toml asks.
$(VENV)/run: pyproject.toml | $(BIN)/python
	$(call install,$(runtime))
	touch $@

$(VENV)/dev: pyproject.toml | $(BIN)/python
	$(call install,.[dev])
	touch $@ $(VENV)/run

$(VENV)/learn: pyproject.toml | $(BIN)/python
	$(call install,.[learn])
	touch $@ $(VENV)/run

$(VENV)/mesh: pyproject.toml | $(BIN)/python
	$(call install,.[mesh])
	$(BIN)/python -m pip install --quiet pytest
	touch $@ $(VENV)/run

$(VENV)/docs: pyproject.toml | $(BIN)/python
	$(call install,.[docs])
	touch $@ $(VENV)/run
