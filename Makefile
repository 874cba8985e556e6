# Two commands matter: `make demo` and `make test`. Both set up what they need, once.
#
#   make demo    the main job end to end, results in demo-output/
#   make test    every test, compiled and interpreted
#   make lint    ruff, mypy --strict, import-linter
#   make up      a nameserver and a broker in the foreground
#   make bench   our figures beside the peers', as ratios of one run
#   make chaos   power cuts and kills, CYCLES of them; a hundred thousand hostile frames
#   make wheels  sdist, pure wheel and a wheel for this kind of Linux in dist/, each tried in a fresh environment
#   make lock    new versions into requirements.lock and requirements-demo.lock
#   make clean   everything that the above made

VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := $(VENV)/.demo
HOT    := $(shell find src -name '*.py' -o -name '*.pxd')
CYCLES ?= 200

# Tested twice, compiled and interpreted; and what needs real peers.
INTERPRETED = tests/unit tests/property tests/corpus
PEERS       = tests/e2e tests/interop

.PHONY: demo test lint up bench chaos wheels lock clean setup java
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   //p' Makefile

setup: $(BIN)/.compiled

$(READY): requirements.lock scripts/setup-python
	@scripts/setup-python $(VENV) requirements.lock
	@touch $@

# The same environment with less in it: who comes for the demo waits neither for a compiler nor for linters.
$(DEMO): requirements-demo.lock scripts/setup-demo scripts/setup-python
	@scripts/setup-demo $(VENV)
	@touch $@

# The hot modules are compiled again when a source changed; setup.py decides what that means on this machine.
$(BIN)/.compiled: $(READY) pyproject.toml setup.py $(HOT)
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/sprocket version
	@touch $@

java:
	@scripts/setup-java

# What was compiled once is kept up to date.
demo: $(if $(wildcard $(BIN)/.compiled),setup java,$(DEMO))
	@$(BIN)/python -m examples.demo

test: setup java
	@$(BIN)/python scripts/run_tests.py --interpreted $(INTERPRETED) --peers $(PEERS)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

up: setup
	@$(BIN)/sprocket up

bench: setup java
	@$(BIN)/python -m bench

chaos: setup
	@$(BIN)/python -m tests.fault.chaos --cycles $(CYCLES)
	@mkdir -p .cache
	SPROCKETMQ_SIEGE_FRAMES=100000 $(BIN)/python -m pytest --basetemp=.cache/$@ -q tests/fault/test_hostile_frames.py

wheels: $(READY)
	@scripts/build-wheels $(VENV)

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

lock: $(READY)
	@$(COMPILE) --all-extras --upgrade pyproject.toml --output-file requirements.lock
	@echo 'setuptools>=77' | $(COMPILE) --extra cli --extra broker --extra spark --constraint requirements.lock \
		pyproject.toml - --output-file requirements-demo.lock

clean:
	rm -rf $(VENV) build dist demo-output .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src -name '*.so' -delete
	find . -name __pycache__ -prune -exec rm -rf {} +
