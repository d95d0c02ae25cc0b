# Each target installs what it needs: a machine may start bare. PYTHON chooses the interpreter (3.11 to 3.13).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The set-up that figures are measured with. Without it, pip would take the newest torch that fits.
TORCH ?= torch==2.13.0
# pyproject.toml leaves the slow ones out otherwise.
EVERY_TEST := -m "slow or thorough or not slow"
# What the limit is held to; docs/limit.md.
LIMIT_SCENARIOS := q1s1k 16q1s1k 16q9s1kd8 15q1s1k_q2k 8q9s1kd8_6q1s1k_2q128 16q1s1k/g30

.PHONY: help setup bench test test-slow browser lint format docs asv vllm conform nightly releases dashboard bench-self bench-limit gpu-check accept accept-step accept-server accept-answers accept-evidence accept-nights accept-limit clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' Makefile

$(READY): pyproject.toml Makefile
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (torch first: minutes on a slow line)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$(TORCH)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $(READY)

setup: $(READY) ## the environment in .venv

bench: $(READY) vllm ## the verdict on 51913, by step and in a live server, and a report
	@$(BIN)/gdnbench evidence 51913 --server --no-accuracy

test: $(READY) ## the fast tests, on all cores
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist loadfile

test-slow: $(READY) vllm browser ## the tests that need the real releases, a browser, or minutes of measuring
	@$(BIN)/python -m pytest -q -m "slow and not thorough"

browser: ## Chromium for the tests of pages; where it cannot be installed they are skipped, with that reason
	@command -v chromedriver > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium chromium-driver > /dev/null; } || true

lint: $(READY) ## ruff and mypy --strict
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(READY) ## let ruff format and mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: $(READY) ## the documents as a site, in build/docs
	@$(BIN)/typer gdnbench.cli utils docs --name gdnbench --output docs/reference/cli.md > /dev/null
	@$(BIN)/python -m mkdocs build --strict --quiet

asv: $(READY) ## every asv suite once, in an environment of its own
	@$(BIN)/asv machine --yes > /dev/null
	@$(BIN)/asv run --quick --show-stderr --record-samples

vllm: $(READY) ## the environment that vLLM's releases run in, apart from .venv
	@$(BIN)/python -m gdnbench.oracle.install

conform: vllm ## every change against the real releases, field by field and operation by operation
	@$(BIN)/gdnbench conform

nightly: $(READY) vllm ## a night of the default plan, kept in the history runs; HISTORY=DIR, PLAN=FILE for others
	@$(BIN)/gdnbench nightly --history $(or $(HISTORY),runs) $(if $(PLAN),--plan $(PLAN))

releases: $(READY) vllm ## which release of vLLM changed which kind of step, kept in datasets/releases
	@GDNBENCH_MACHINE=$${GDNBENCH_MACHINE:-release-history} $(BIN)/gdnbench releases --history datasets/releases

dashboard: $(READY) ## the release history as a site, in build/dashboard; HISTORY=DIR for another history
	@$(BIN)/gdnbench dashboard --history $(or $(HISTORY),datasets/releases) --out build/dashboard --asv

bench-self: $(READY) ## how well this machine can judge, the rule for shifts, and how fast a site of a million points is
	@$(BIN)/gdnbench calibrate
	@$(BIN)/python -m gdnbench.history.shift_nights
	@$(BIN)/python -m gdnbench.history.shift_methods $(if $(OTAVA),--otava $(OTAVA))
	@$(BIN)/python -m gdnbench.dashboard.speed

bench-limit: $(READY) vllm ## the limit against vLLM 0.32.0: step time, and 30 groups against block-table updates
	@$(BIN)/gdnbench step vllm@0.32.0 limit $(foreach s,$(LIMIT_SCENARIOS),--scenario $(s))
	@$(BIN)/python -m gdnbench.campaign.group_updates
	@$(BIN)/python -m gdnbench.probes.unit_costs

gpu-check: ## costs, step time and the trace's self-check on a GPU, with torch and NumPy alone: at most 8 minutes
	@$(PYTHON) -m gdnbench.campaign.gpu_check --out reports/gpu || [ $$? -eq 4 ]

accept: accept-step accept-server accept-answers accept-evidence accept-nights accept-limit ## the acceptance of every part

accept-server: $(READY) vllm bench lint ## the acceptance of the live server: about 3 hours
	@$(BIN)/python -m pytest -q tests/serving tests/plugin tests/workloads tests/cli $(EVERY_TEST)
	@mkdir -p build/records
	@for n in 1 2 3; do for concurrency in 1 16; do \
	  $(BIN)/gdnbench serve pr51913.after pr51913.after --concurrency $$concurrency \
	    --fail-on regressed,improved,invalid --keep build/records/identical-$$n-c$$concurrency-$$(date +%s).json.gz || exit 1; \
	  $(BIN)/gdnbench serve pr51913.after pr51913.after+100us --concurrency $$concurrency --json --fail-on none \
	    --keep build/records/handicap-$$n-c$$concurrency-$$(date +%s).json.gz > build/handicap.json || exit 1; \
	  $(BIN)/python -c 'import json; found = json.load(open("build/handicap.json")); print(found["headline"]); \
	    assert all(row["verdict"] == "regressed" for row in found["rows"] if row["primary"])' || exit 1; \
	done; done
	@$(BIN)/gdnbench serve vllm@0.29.0 vllm@0.29.0 --observation --concurrency 1
	@$(BIN)/gdnbench serve pr51913.before pr51913.after
	@$(BIN)/gdnbench serve pr52078.before pr52078.after --speculative mtp
	@$(BIN)/gdnbench serve pr52078.before pr52078.after --launches 1 --concurrency 1; test $$? -eq 1
	@$(BIN)/gdnbench serve vllm@0.30.0 vllm@0.31.0 --launches 3 --fail-on invalid

# GSM8K names a directory with gsm8k's test.jsonl and train.jsonl; without it they are fetched.
accept-answers: $(READY) vllm lint ## the acceptance of accuracy: about 45 minutes
	@$(BIN)/python -m pytest -q tests/accuracy tests/cli/test_accuracy_command.py $(EVERY_TEST)
	@$(BIN)/gdnbench accuracy pr51913.before pr51913.after --limit 300
	@$(BIN)/gdnbench accuracy pr51913.before pr51913.after
	@test -n "$(GSM8K)" || $(BIN)/gdnbench data fetch gsm8k
	@$(BIN)/gdnbench accuracy pr51913.before pr51913.after --task gsm8k --limit 100 $(if $(GSM8K),--data $(GSM8K))
	@$(BIN)/gdnbench faults

accept-step: $(READY) vllm bench lint asv ## the acceptance of the step: about 70 minutes
	@$(BIN)/python -m pytest -q -m "slow or not slow"
	@$(BIN)/gdnbench conform
	@mkdir -p build
	@$(BIN)/gdnbench cost pr51913.before pr51913.after --scenario 16q1s1k --json > build/cost-1.json
	@$(BIN)/gdnbench cost pr51913.before pr51913.after --scenario 16q1s1k --json > build/cost-2.json
	@cmp build/cost-1.json build/cost-2.json
	@$(BIN)/gdnbench step pr51913.before pr51913.after --scenario 16q1s1k
	@$(BIN)/gdnbench step pr51913.after pr51913.after --scenario 16q1s1k
	@$(BIN)/gdnbench step vllm@0.30.0 vllm@0.31.0 --scenario 16q1s1k --fail-on invalid
	@$(BIN)/gdnbench step vllm@0.28.0 pr51913.after --fail-on invalid
	@$(BIN)/gdnbench step vllm@0.29.0 pr52078.after --fail-on invalid
	@$(BIN)/gdnbench calibrate --whole 10

accept-evidence: $(READY) vllm browser lint ## the acceptance of evidence, claims, the gate and other people's numbers: about 70 minutes
	@$(BIN)/python -m pytest -q tests/ingest tests/report tests/gate tests/docs $(EVERY_TEST)
	@for change in 51913 52078 40654 41873 55404 51565; do \
	  $(BIN)/gdnbench evidence $$change --fail-on invalid || exit 1; done

accept-nights: $(READY) vllm browser lint ## the acceptance of nights, shifts, the dashboard and many machines: about 60 minutes
	@$(BIN)/python -m pytest -q tests/history tests/nightly tests/dashboard tests/campaign/test_ray.py tests/cli/test_nightly_command.py \
	  $(EVERY_TEST)
	@rm -rf build/nights
	@for night in 1 2; do $(BIN)/gdnbench nightly --history build/nights || exit 1; done
	@$(MAKE) dashboard bench-self

accept-limit: $(READY) vllm bench-limit lint ## the acceptance of the limit: about 60 minutes
	@$(BIN)/python -m pytest -q tests/gdn_impl/test_limit.py tests/gdn_impl/test_limit_against_release.py $(EVERY_TEST)
	@$(BIN)/gdnbench serve vllm@0.32.0 limit --fail-on invalid
	@$(BIN)/gdnbench serve vllm@0.32.0 limit --speculative mtp --fail-on invalid
	@$(BIN)/gdnbench accuracy vllm@0.32.0 limit --limit 300

clean: ## remove environments and caches in this folder
	rm -rf $(VENV) .venv-vllm .asv .mypy_cache .ruff_cache .pytest_cache build *.egg-info
