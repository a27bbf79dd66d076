# Séance Tools: everything a newcomer or a contributor runs. `make help` lists it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SHELL_FILES := seance.tmux bin/* wrappers/seance.sh wrappers/seance.bash wrappers/seance.tmux wrappers/seance-tmux tests/install-tools .ci/run

.DEFAULT_GOAL := help
.PHONY: help run test lint bench generate generate-check picture demo clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

$(VENV)/run: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/dev: $(VENV)/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(VENV)/run ## install into .venv and open the sidebar, with its broker
	@$(BIN)/seance-sidebar

test: $(VENV)/dev ## install what the tests need and run them all
	@sh tests/install-tools
	$(BIN)/python -m pytest -n 4 --dist worksteal
	$(BIN)/bats tests/shell

lint: $(VENV)/dev ## ruff, mypy, shellcheck, man pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/shellcheck $(SHELL_FILES)
	zsh -n wrappers/seance.zsh
	fish --no-execute wrappers/seance.fish
	mandoc -Tlint -Wwarning man/man*/*

bench: $(VENV)/dev ## measure everything that somebody waits for, into docs/performance.md
	$(BIN)/python -m tests.bench --write $(ARGS)

generate: $(VENV)/run ## write the generated parts anew: shell functions, man pages
	$(BIN)/python -m seance_tools.docgen

generate-check: $(VENV)/run ## fail if a generated part is not up to date
	$(BIN)/python -m seance_tools.docgen --check

demo: $(VENV)/run ## watch the sidebar with four stand-in agents for a minute
	@$(BIN)/seance-ctl demo

picture: $(VENV)/dev ## make the README's picture of the sidebar anew
	$(BIN)/python tests/picture.py

clean: ## remove what these targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
