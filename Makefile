# Two commands do all the set-up on a fresh machine with Python 3.11 or later: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
TEST_ARGS ?= -n auto

.PHONY: demo test lint crosscheck clean

demo: $(VENV)/run
	$(BIN)/hydromechs run station_keeping

test: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/pytest $(TEST_ARGS)

lint: $(VENV)/dev
	$(BIN)/ruff check .

crosscheck: $(VENV)/dev
	$(BIN)/hydromechs crosscheck --trees 1000

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "HydroMechs needs Python 3.11 or later; give one with make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Marks that the packages for running, and for developing, are installed as pyproject.toml asks.
$(VENV)/run: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/run
