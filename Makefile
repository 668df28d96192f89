# Two commands do everything on a machine with Python 3.11 or newer: `make quickstart` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: quickstart test lint docs-check bench clean help

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

quickstart: $(VENV)/installed ## run the first study and write its report
	$(BIN)/taskloom run quickstart
	@echo "to go on: . $(VENV)/bin/activate, then see the README"

test: $(VENV)/installed-dev ## run all tests
	$(BIN)/python -m pytest -n auto --dist loadgroup -q

lint: $(VENV)/installed-dev ## style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs-check: $(VENV)/installed-dev ## run the commands of the documents
	$(BIN)/python -m pytest -q tests/test_docs.py

bench: $(VENV)/installed-dev ## measure, against peers where there are any
	$(INSTALL) 'lm-eval[hf]==0.4.13' sentence-transformers==6.2.0
	for script in bench/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean: ## remove what was installed and built
	rm -rf $(VENV) suites runs

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "taskloom needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml constraints.txt
	@echo "installing taskloom into $(VENV) ..."
	$(INSTALL) --editable '.[lm]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "installing the tools for development ..."
	$(INSTALL) --editable '.[dev]'
	@touch $@
