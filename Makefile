# Surebox: `make` alone says what there is.
# PYTHON=/path/to/python3 names the Python of a new .venv; ARGS="…" goes to the command itself.

.DEFAULT_GOAL := help
.PHONY: help install demo serve test long check lint types imports documents bench docs wheels openapi settings format lock clean
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
export PYTHON
# Tests start some hundred processes; without files of bytecode each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# Entries of wheels have one time, whatever the shell that builds them has set.
unexport SOURCE_DATE_EPOCH
ARGS ?=
DATA ?=

# One line per step: its name, and its output only when it fails.
define step
@printf '%-44s' '$(1)'; if output=$$($(2) 2>&1); then echo ok; else echo FAILED; printf '%s\n' "$$output"; exit 1; fi
endef

help: ## what there is
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

$(VENV)/.demo: requirements/demo.txt requirements/install.sh pyproject.toml verify/pyproject.toml openapi/sdk/python/pyproject.toml
	@requirements/install.sh demo

$(VENV)/.dev: requirements/dev.txt requirements/install.sh pyproject.toml verify/pyproject.toml openapi/sdk/python/pyproject.toml
	@requirements/install.sh dev

install: $(VENV)/.demo ## .venv with all that runs the service on one machine, its algorithms compiled
	@echo "Compiling the algorithms for this machine"
	@$(BIN)/surebox kernels
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib app workers migrations verify >/dev/null || : # some hold templates
	@echo "Ready: make demo, make serve"

demo: $(VENV)/.demo ## anonymize real microdata, see the result (DATA="file.csv …" for your own)
	@$(BIN)/surebox demo $(addprefix --data ,$(DATA)) $(ARGS)

serve: $(VENV)/.demo ## the service on this machine, http://127.0.0.1:8000 (ARGS="--port 8001 --workers 4")
	@exec $(BIN)/surebox serve $(ARGS)

test: $(VENV)/.dev ## every test (ARGS="tests/api -k upload" for some)
	@$(BIN)/surebox kernels # once, or each of the processes below compiles what it needs first
	@$(BIN)/python -m pytest --quiet --numprocesses 4 --dist loadscope --no-loadscope-reorder $(ARGS)

long: $(VENV)/.dev ## every test with new examples, many more of them, and what takes minutes (hours in all; ARGS as of test)
	@number=$${SUREBOX_LONG:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; echo "SUREBOX_LONG=$$number repeats these examples"; \
	SUREBOX_LONG=$$number SUREBOX_ATTACK_SCALE=$${SUREBOX_ATTACK_SCALE:-10} \
	$(MAKE) test ARGS="--hypothesis-seed=$$number $(ARGS)"

check: lint types imports documents ## lint, format, types, import contracts, generated documents

lint: $(VENV)/.dev
	$(call step,ruff check,$(BIN)/ruff check --quiet .)
	$(call step,ruff format,$(BIN)/ruff format --check .)

types: $(VENV)/.dev
	$(call step,mypy (strict),$(BIN)/mypy)

imports: $(VENV)/.dev
	$(call step,import contracts,$(BIN)/lint-imports)

documents: $(VENV)/.dev
	$(call step,openapi/openapi.json is served,$(BIN)/surebox openapi | diff -u openapi/openapi.json -)
	$(call step,the Python client is current,$(BIN)/python openapi/sdk/python/generate.py --check)
	$(call step,docs/reference/settings.md is current,$(BIN)/python docs/settings.py | diff -u docs/reference/settings.md -)
	$(call step,docs/reference/warnings.md is current,$(BIN)/python docs/warning_codes.py | diff -u docs/reference/warnings.md -)
	$(call step,docs/reference/errors.md is current,$(BIN)/python docs/problem_codes.py | diff -u docs/reference/errors.md -)
	$(call step,figures are as measured,$(BIN)/python benchmarks/recorded.py --check)
	$(call step,docs/reference/flags.md is current,$(BIN)/python docs/release_flags.py | diff -u docs/reference/flags.md -)
	$(call step,docs/reference/scopes.md is current,$(BIN)/python docs/key_scopes.py | diff -u docs/reference/scopes.md -)
	$(call step,the guide is whole,$(BIN)/python docs/guide.py)

docs: $(VENV)/.dev ## build the guide, which the service has at /guide; a link to nothing fails
	@$(BIN)/python docs/guide.py

wheels: docs ## write the three distributions into dist/: surebox with its guide, surebox-verify, surebox-client
	@rm -rf dist
	@for source in . verify openapi/sdk/python; do \
		(cd $$source && "$(abspath $(BIN))/python" -m hatchling build --target wheel --directory "$(CURDIR)/dist" >/dev/null) || exit 1; \
	done; cd dist && sha256sum *.whl

bench: $(VENV)/.dev ## the benchmarks, one after the other, with their figures
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script $(ARGS); done

openapi: $(VENV)/.dev ## write openapi/openapi.json from the code
	@$(BIN)/surebox openapi > openapi/openapi.json

sdk: $(VENV)/.dev ## write what is generated of the Python client (openapi/sdk/python)
	@$(BIN)/python openapi/sdk/python/generate.py

warnings: $(VENV)/.dev ## write docs/reference/warnings.md from the code
	@$(BIN)/python docs/warning_codes.py > docs/reference/warnings.md

errors: $(VENV)/.dev ## write docs/reference/errors.md from the code
	@$(BIN)/python docs/problem_codes.py > docs/reference/errors.md

figures: $(VENV)/.dev ## write the figures of benchmarks/results into the documents that quote them
	@$(BIN)/python benchmarks/recorded.py

flags: $(VENV)/.dev ## write docs/reference/flags.md from the code
	@$(BIN)/python docs/release_flags.py > docs/reference/flags.md

scopes: $(VENV)/.dev ## write docs/reference/scopes.md from the code
	@$(BIN)/python docs/key_scopes.py > docs/reference/scopes.md

settings: $(VENV)/.dev ## write docs/reference/settings.md from the code
	@$(BIN)/python docs/settings.py > docs/reference/settings.md

format: $(VENV)/.dev ## ruff format, and what ruff mends by itself
	@$(BIN)/ruff check --quiet --fix . ; $(BIN)/ruff format --quiet .

lock: ## write the locks from pyproject.toml (needs uv; UPGRADE=1 for newer versions)
	@requirements/compile.sh

clean: ## remove .venv and caches; the data folder .surebox stays
	@rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .node_packages .numba_cache dist build app/guide
	@find app workers verify openapi migrations tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
