# Two commands matter: `make demo` and `make test`. Both set up what they need, once.
#
#   make demo    the main job end to end, results in demo-output/
#   make test    every test, compiled and interpreted
#   make steady  RUNS whole runs of the suite beside a busy loop per core, and which tests count on a fast machine;
#                one that was ended goes on where it was
#   make lint    ruff, mypy --strict, import-linter, bandit, pip-audit
#   make up      a nameserver and a broker in the foreground
#   make bench   our figures beside the peers', as ratios of one run
#   make chaos   users under kills, power cuts and clock jumps, CYCLES of them; a hundred thousand hostile frames; failover;
#                CYCLES faults of a real cluster in network namespaces (as root)
#   make fuzz    hostile frames, FRAMES of them, against broker and nameserver
#   make soak    users of every kind on one broker for MINUTES: memory, descriptors and stalls stay flat
#   make docs    the documents as a site in site/, built strictly: a link that leads nowhere fails
#   make simulate  SEEDS whole clusters of brokers and controllers on a virtual clock, with every kind of fault
#   make wheels  sdist, pure wheel and a wheel for this kind of Linux in dist/, each tried in a fresh environment;
#                HOME_PAGE=https://... is where their index page links to
#   make lock    new versions into requirements.lock and requirements-demo.lock
#   make clean   everything that the above made

VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := $(VENV)/.demo
HOT    := $(shell find src -name '*.py' -o -name '*.pxd')
CYCLES ?= 200
FRAMES ?= 10000000
MINUTES ?= 60
SEEDS  ?= 100000
RUNS   ?= 10

# Tested twice, compiled and interpreted: the rooms with hot modules (tests/repository/test_rooms.py), and what goes
# through all of them. Then the parts of their own: what needs real peers, and faults. Those that take longest come first.
INTERPRETED = $(addprefix tests/unit/,auth broker client hot protocol remoting spark store) tests/property tests/corpus
APART       = $(addprefix tests/,interop/clients e2e spark fault interop/accounts interop interop/replication browser)
SUITE       = --interpreted $(INTERPRETED) --apart $(APART)

.PHONY: demo test steady lint up bench chaos fuzz soak simulate docs wheels lock clean setup java tools
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

tools:
	@scripts/setup-tools

# What was compiled once is kept up to date.
demo: $(if $(wildcard $(BIN)/.compiled),setup java,$(DEMO))
	@$(BIN)/python -m examples.demo

test: setup java tools
	@$(BIN)/python scripts/run_tests.py $(SUITE)

steady: setup java tools
	@$(BIN)/python scripts/steady.py $(RUNS) $(SUITE)

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive src
	$(BIN)/python scripts/audit.py $(BIN)/pip-audit requirements.lock

up: setup
	@$(BIN)/sprocket up

bench: setup java
	@$(BIN)/python -m bench

# A run that was ended goes on where it was: its results so far are in .cache. Remove them to begin anew.
CAMPAIGN = $(BIN)/python -m tests.fault.campaign --cycles $(CYCLES)

chaos: setup
	@mkdir -p .cache
	$(CAMPAIGN) --mode SYNC_FLUSH --json .cache/chaos-sync.json
	$(CAMPAIGN) --mode ASYNC_FLUSH --json .cache/chaos-async.json
	$(CAMPAIGN) --mode SYNC_FLUSH --jumps --json .cache/chaos-clock.json
	$(BIN)/python -m tests.fault.systematic.nth_call --json .cache/chaos-calls.json
	SPROCKETMQ_PURE=1 $(BIN)/python -m tests.fault.systematic.call_sites --json .cache/chaos-tasks.json
	@$(BIN)/python -m tests.fault.crash.chaos --cycles $(CYCLES)
	SPROCKETMQ_SIEGE_FRAMES=100000 $(BIN)/python -m pytest --basetemp=.cache/$@ -q tests/fault/strangers/test_hostile_frames.py
	SPROCKETMQ_CHAOS=1 $(BIN)/python -m pytest --basetemp=.cache/$@ -q tests/interop/replication/test_failover.py \
		tests/interop/replication/test_rolling_upgrade.py tests/interop/replication/test_promotion.py tests/interop/replication/test_left_behind.py
	$(BIN)/python -m tests.fault.partitions --faults $(CYCLES) --json .cache/chaos-partitions.json

fuzz: setup
	@mkdir -p .cache
	$(BIN)/python -m tests.fault.strangers.fuzz --frames $(FRAMES) --json .cache/fuzz.json

soak: setup
	@mkdir -p .cache
	$(BIN)/python -m tests.fault.soak --minutes $(MINUTES) --json .cache/soak.json

simulate: setup
	@$(BIN)/python -m tests.simulation.campaign --seeds $(SEEDS)

docs: setup
	@$(BIN)/python scripts/reference.py
	@$(BIN)/python scripts/figures.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

wheels: $(READY)
	@SPROCKETMQ_HOME_PAGE='$(HOME_PAGE)' scripts/build-wheels $(VENV)

COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

lock: $(READY)
	@$(COMPILE) --all-extras --upgrade pyproject.toml --output-file requirements.lock
	@echo 'setuptools>=77' | $(COMPILE) --extra cli --extra broker --extra dashboard --extra spark --constraint requirements.lock \
		pyproject.toml - --output-file requirements-demo.lock

clean:
	rm -rf $(VENV) build dist site demo-output .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src -name '*.so' -delete
	find . -name __pycache__ -prune -exec rm -rf {} +
