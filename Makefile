# Everything sets itself up on a machine that has only python3 (uv is used where it exists).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
UV := $(shell command -v uv 2>/dev/null)
PYTEST := $(BIN)/python -m pytest -n auto

.PHONY: demo test check format nightly bench snapshots clean setup

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
ifdef UV
	test -x $(BIN)/python || $(UV) venv --python $(PYTHON) $(VENV)
	$(UV) pip install --python $(BIN)/python -c constraints.txt -e '.[dev]'
else
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
endif
	touch $@

demo: $(STAMP)
	$(BIN)/tracelens-tui demo

test: $(STAMP)
	$(PYTEST) -m "not nightly"

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

nightly: $(STAMP)
	$(PYTEST)

snapshots: $(STAMP)
	$(BIN)/python -m pytest tests/app -k snapshot --snapshot-update

bench: $(STAMP)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis
