# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PORT ?= 8501
export TURNTREE_MODEL := $(or $(MODEL),$(TURNTREE_MODEL))

.PHONY: run test check bench lock clean

run: .venv/ready-run
	@$(BIN)/python -m core.local fetch
	@echo "Turntree opens at http://127.0.0.1:$(PORT)  (Ctrl+C ends it)"
	@$(BIN)/streamlit run app.py --server.port $(PORT)

test: .venv/ready-test
	@$(BIN)/python -m core.local fetch tiny
	@$(BIN)/python -m tests.browser.install
	@$(BIN)/python -m tests.contract.office
	$(BIN)/python -m pytest

check: .venv/ready-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready-test
	@$(BIN)/python -m core.local fetch tiny
	@$(BIN)/python -m tests.browser.install
	@$(BIN)/python -m bench

# Both locks are compiled together, so that nothing is installed twice in two versions.
lock: .venv/ready-test
	$(BIN)/pip-compile -q --generate-hashes --allow-unsafe --no-emit-index-url \
	  --no-emit-find-links --no-emit-trusted-host --no-header --strip-extras \
	  -o requirements.txt pyproject.toml
	$(BIN)/pip-compile -q --generate-hashes --allow-unsafe --no-emit-index-url \
	  --no-emit-find-links --no-emit-trusted-host --no-header --strip-extras \
	  --extra dev -c requirements.txt -o requirements-dev.txt pyproject.toml

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/ready-run: requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --only-binary :all: -r requirements.txt
	@touch $@

.venv/ready-test: .venv/ready-run requirements-dev.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --only-binary :all: -r requirements-dev.txt
	@touch $@

clean:
	rm -rf .venv
