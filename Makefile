# `make killtest` and `make test` are all the set-up there is; each makes the virtual environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
# Only wheels, only what the lock file names, with its hashes; the build back end comes from the lock as well.
INSTALL := $(PIP) install --require-hashes --only-binary :all: -r
CAMPAIGNS := $(if $(QUICK),quick,article comparison)
export PYTHONDONTWRITEBYTECODE := 1

.DEFAULT_GOAL := help
.PHONY: help killtest mixed gate jobdir reload workers zoo reference tables notebooks test doc-commands lint types check docs bench explore-agreement shrink-zoo harness-kills mutation lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

killtest: $(VENV)/.run ## kill real crawlers, print the tables, write results/ (QUICK=1: under two minutes)
	@for campaign in $(CAMPAIGNS); do $(BIN)/killtest bench $$campaign $(if $(FRESH),--fresh) || exit $$?; done

mixed: $(VENV)/.run ## a campaign of clean stops followed by kills
	$(BIN)/killtest bench mixed

gate: $(VENV)/.run ## the gate on our own crawlers: the sound one must pass, the known bad one must fail
	$(BIN)/killtest gate idempotent:short_lease
	$(BIN)/killtest gate naive

# What is known to fail ends with 1, which is a result and no reason to stop; anything else is.
jobdir: $(VENV)/.run ## the JOBDIR laboratory: what Scrapy keeps on disk, what each interruption loses (about 15 minutes)
	$(BIN)/killtest bench jobdir --jobs 2 --json $(if $(FRESH),--fresh) > /dev/null
	$(BIN)/python bench/jobdir_mechanisms.py --out results/jobdir/mechanisms.jsonl
	$(BIN)/python bench/jobdir_scale.py --within 15 --out results/jobdir/scale.json
	$(BIN)/killtest sweep scrapy_durable $(JOBDIR_SHOP)
	$(BIN)/killtest explore scrapy_durable:one_request --jobs 2 $(JOBDIR_SHOP)
	$(BIN)/killtest explore scrapy_jobdir:one_request --jobs 2 $(JOBDIR_SHOP) || test $$? -eq 1
	$(BIN)/killtest report results/jobdir --lang zh > /dev/null
	$(BIN)/killtest report results/jobdir
JOBDIR_SHOP := --site list_pages=2 --site products=5

reload: $(VENV)/.run ## the reloadable crawler and the published design under every claim (about 25 minutes)
	$(BIN)/killtest bench reload --jobs 2 --json $(if $(FRESH),--fresh) > /dev/null
	$(BIN)/python bench/aof_loss.py --out results/reload/aof.json
	$(BIN)/python bench/reload_claims.py

workers: $(VENV)/.dev ## several workers on one store: killed, paused, slow, without their server (about ten minutes)
	$(BIN)/killtest bench workers --json $(if $(FRESH),--fresh) > /dev/null
	$(BIN)/python bench/worker_claims.py

zoo: $(VENV)/.run ## the bug zoo: every planted bug found exactly, nothing in its sound twin (a minute or two)
	$(BIN)/killtest zoo --jobs 2

reference: $(VENV)/.dev ## run the committed campaigns anew into results/reference/ (about half an hour)
	@for campaign in article comparison mixed misbehaviour mtbf workers; do rm -rf results/reference/$$campaign; \
	  $(BIN)/killtest bench $$campaign --results results/reference || exit $$?; done
	$(BIN)/python bench/worker_claims.py results/reference/workers

tables: $(VENV)/.dev ## write what is derived from results/reference/ anew, the tables of README and docs, and the notebooks
	$(BIN)/python -m killtest.report.page_tables
	$(BIN)/python bench/notebook_run.py

notebooks: $(VENV)/.dev ## execute the notebooks, which read results/reference/
	$(BIN)/python bench/notebook_run.py

test: $(VENV)/.dev ## the test suite, Scrapy included
	$(BIN)/python -m pytest

doc-commands: $(VENV)/.dev ## run every command that README and docs show, those that take minutes too (an hour; nightly)
	KILLTEST_DOC_COMMANDS=1 $(BIN)/python -m pytest tests/end_to_end/test_doc_commands.py

lint: $(VENV)/.dev ## ruff and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/mypy

check: lint types test ## all of it

docs: $(VENV)/.dev ## write docs/cli.md from the commands' help and docs/zoo.md from the zoo's folders
	$(BIN)/python -m killtest.cli.reference > docs/cli.md
	$(BIN)/python -m killtest.zoo.zoo_page > docs/zoo.md

bench: $(VENV)/.dev ## speed: ratios measured side by side, and the judge against its bounds
	$(BIN)/python bench/site_throughput.py
	$(BIN)/python bench/harness_cost.py
	$(BIN)/python bench/first_verdict.py
	$(BIN)/python bench/explore_speed.py
	$(BIN)/python bench/explore_power.py
	$(BIN)/python bench/judge_speed.py
	$(BIN)/python bench/report_size.py
	$(BIN)/python bench/reload_latency.py --out results/reload/latency.json
	$(BIN)/python bench/reload_throughput.py --json results/reload/throughput.json

shrink-zoo: $(VENV)/.dev ## shrink ten timed kills to one, on subjects of the zoo (a few minutes)
	$(BIN)/python bench/shrink_zoo.py

harness-kills: $(VENV)/.dev ## kill -9 the harness 100 times in the middle of campaigns
	$(BIN)/python bench/harness_kills.py

explore-agreement: $(VENV)/.dev ## derived crash points against true kills at every step of three subjects (nightly)
	$(BIN)/python bench/explore_agreement.py

# In a copy, for the source is changed in place while the tests run.
mutation: $(VENV)/.mutation ## change the judge's code in some 950 ways: how many do its tests notice? (half an hour)
	rm -rf .mutation && mkdir .mutation && cp -r harness testsite tests pyproject.toml .mutation/
	find .mutation -name __pycache__ -prune -exec rm -rf {} +
	cd .mutation && PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH=harness:testsite sh -ec ' \
	  cosmic-ray init pyproject.toml session.sqlite; cr-filter-operators session.sqlite pyproject.toml; \
	  cosmic-ray baseline pyproject.toml; cosmic-ray exec pyproject.toml session.sqlite; \
	  python ../bench/mutation_score.py session.sqlite'

lock: $(VENV)/.dev ## write requirements/*.lock anew from pyproject.toml
	$(BIN)/pip-compile $(LOCK_FLAGS) --extra report --extra scrapy --extra explore --extra reload --extra editable -o requirements/run.lock pyproject.toml
	$(BIN)/pip-compile $(LOCK_FLAGS) --extra report --extra scrapy --extra explore --extra reload --extra postgres --extra notebooks --extra editable --extra dev -c requirements/run.lock -o requirements/dev.lock pyproject.toml
	$(BIN)/pip-compile $(LOCK_FLAGS) --extra mutation -c requirements/dev.lock -o requirements/mutation.lock pyproject.toml
LOCK_FLAGS := -q --generate-hashes --no-emit-index-url --no-emit-find-links --strip-extras --allow-unsafe

clean: ## remove the virtual environment and caches, not results/
	rm -rf $(VENV) .mutation .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "killtest needs Python 3.11 or newer; set PYTHON=python3.11 (this is $$($(PYTHON) -V 2>&1))" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "no virtual environment could be made; on Debian or Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/.run: requirements/run.lock pyproject.toml | $(BIN)/python
	$(INSTALL) requirements/run.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.lock $(VENV)/.run
	$(INSTALL) requirements/dev.lock
	@touch $@

$(VENV)/.mutation: requirements/mutation.lock $(VENV)/.dev
	$(PIP) install --require-hashes -r requirements/mutation.lock
	@touch $@
