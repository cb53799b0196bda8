# Every target makes its own virtual environment; Python 3.11 or newer, pip and make are all it needs.
# Another interpreter: make test PYTHON=python3.13

ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
else
PYTHON ?= python3
BIN := .venv/bin
endif

PY := $(BIN)/python
PYTEST_ARGS ?= -n auto --dist worksteal
DEMO_ARGS ?=
BENCH_ARGS ?=
SCALE_ARGS ?=
BROWSER_ARGS ?=
CLUSTER_ARGS ?=

VENV := .venv/venv.stamp
DEV := .venv/dev.stamp
# What "make demo" needs is part of the development environment, where that exists.
DEMO := $(if $(wildcard $(DEV)),$(DEV),.venv/demo.stamp)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

.PHONY: help demo bench bench-scale test test-browser test-cluster check unit coverage docs gallery format dist clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(DEMO) ## install the package and run the demonstration (no network data needed)
	$(PY) -m ewnmf.demo $(DEMO_ARGS)

bench: .venv/bench.stamp ## measure speed and memory, print the targets, write docs/benchmarks.md (BENCH_ARGS=--quick tries it)
	$(PY) -m benchmarks $(BENCH_ARGS)

bench-scale: $(DEV) ## files larger than memory, streams and a Dask cluster (SCALE_ARGS="--gigabytes 1 --parts file")
	$(PY) -m benchmarks.scale $(SCALE_ARGS)

test: $(DEV) ## everything that must pass: check, docs and unit, at the same time
	$(MAKE) -j 3 check docs unit

check: $(DEV) ## the fast static checks: format, lint, types, import directions
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(BIN)/lint-imports --no-cache

unit: $(DEV) ## the tests alone (PYTEST_ARGS="-k gamma -x" narrows them)
	$(PY) -m pytest $(PYTEST_ARGS)

test-browser: .venv/browser.stamp ## the reports in headless Chromium, which must be installed (apt-get install chromium)
	EWNMF_BROWSER=1 $(PY) -m pytest tests/browser $(BROWSER_ARGS)

test-cluster: $(DEV) ## fits on Dask workers that are killed or cut off, grids there, and scikit-learn's checks on Dask arrays
	EWNMF_CLUSTER=1 $(PY) -m pytest tests/cluster $(CLUSTER_ARGS)

coverage: $(DEV) ## the tests again, with the lines that none of them runs
	$(PY) -m pytest --cov --cov-report=term $(PYTEST_ARGS)

docs: $(DEV) ## the documentation, in docs/_build/html, examples not run; a warning is an error
	$(PY) -m sphinx -E -W --keep-going -q -b html docs docs/_build/html

gallery: $(DEV) ## the same with every example run, in docs/_build/gallery (EWNMF_DOCS_ONLINE=1 links into the docs of others)
	EWNMF_GALLERY=1 $(PY) -m sphinx -E -W --keep-going -q -b html docs docs/_build/gallery

format: $(DEV) ## rewrite the code in the house format and fix what can be fixed
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

dist: $(VENV) ## build the source archive and the wheel, in dist/, and check them
	$(PY) -m pip install --quiet build twine
	rm -rf dist
	$(PY) -m build
	$(PY) -m twine check --strict dist/*

clean: ## remove everything the targets made, the virtual environment too
	rm -rf .venv build dist docs/_build docs/api/generated docs/gallery docs/tutorials demo_output htmlcov .coverage .coverage.*
	rm -rf .mypy_cache .pytest_cache .ruff_cache .rumdl_cache .import_linter_cache .hypothesis
	find src tests docs examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# An interpreter without ensurepip (Debian keeps it apart) gets its pip from the pip it has.
$(VENV):
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "ewnmf needs Python 3.11 or newer, and there is no '$(PYTHON)' here: run make with PYTHON=/path/to/python." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = "%d.%d" % sys.version_info[:2]; sys.version_info >= (3, 11) or sys.exit("ewnmf needs Python 3.11 or newer, and $(PYTHON) is " + v + ": run make with PYTHON=python3.11 (or newer).")'
	$(PYTHON) -m venv .venv 2>/dev/null || { \
	  $(PYTHON) -m venv --without-pip .venv && $(PYTHON) -m pip --python $(PY) install --quiet pip; }
	@touch $@

# uv takes seconds for what takes pip a minute. Where it cannot, or pip was told of another index than the usual one,
# which uv would not know, pip does it.
define install
	@if [ -z "$(PIP_INDEX_URL)" ] && ! $(PY) -m pip config get global.index-url >/dev/null 2>&1 \
	  && $(PY) -m pip install --quiet --no-compile uv \
	  && UV_CONSTRAINT="$(PIP_CONSTRAINT)" $(PY) -m uv pip install --quiet --python $(PY) -e "$(WANTED)"; \
	then :; else echo "installing by pip" && $(PY) -m pip install --quiet --no-compile -e "$(WANTED)"; fi
	@touch $@
endef

# Bytecode is made of what is imported, when it is, and kept: of everything it takes half of the installation.
.venv/demo.stamp: WANTED := .[plots,report]
.venv/demo.stamp: $(VENV) pyproject.toml
	$(install)

# PyTorch and torchnmf are measured where they are installed; nobody is made to download them.
.venv/bench.stamp: WANTED := .[bench]
.venv/bench.stamp: $(VENV) pyproject.toml
	$(install)

# Playwright drives the system's browser and downloads none.
.venv/browser.stamp: WANTED := .[browser]
.venv/browser.stamp: $(VENV) pyproject.toml
	$(install)

$(DEV): WANTED := .[dev]
$(DEV): $(VENV) pyproject.toml
	$(install)
