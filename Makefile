# SPDX-License-Identifier: BSD-2-Clause
#
# Every job of the project, one command each; `make help` lists them.
#
# `make build` is what the others stand on: a virtual environment in .venv with exactly what
# uv.lock names, and the project installed into it so that Python edits are live. uv, which does
# both, is fetched by pip.
# It leaves a stamp behind for each half and does nothing when nothing changed, and one with the
# path: an environment knows its place, so that in a copied or moved checkout it is made anew. The
# lock keeps two makes in one checkout from building over each other.

SHELL := bash
PYTHON ?= python3
JOBS ?= $(shell nproc)
BIN := .venv/bin
UV := build/uv/bin/uv
STEP := tools/step
XEN_BUILD := $(BIN)/hyperperiod xen build
# Groups of tests share a machine; the order of the folders is that of tests/conftest.py.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder -q
export XEN_SRC
# The machine's Python and certificates, as pip has them.
export UV_PYTHON_DOWNLOADS := never
export UV_SYSTEM_CERTS := true

NATIVE := $(shell find core record hosts/sim src/hyperperiod/model/rules \
                  src/hyperperiod/trace/writers src/hyperperiod/trace/properties \
                  src/hyperperiod/analysis/kernels \
                  -name '*.[ch]' -o -name '*.[ch]pp' 2>/dev/null)
C_SOURCES = $(shell git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp')

# What `make test AREA=...` runs: folders of tests, each in one area.
AREAS := core sim analysis model cli report xen linux package docs tools
TESTS_core := core model_naive native core_builds bpf
TESTS_sim := sim integration
TESTS_analysis := analysis soundness fit
TESTS_model := model
TESTS_cli := cli export reproduce latency sweep workbench
TESTS_report := report trace observe
TESTS_xen := hosts_xen control guests xen_build stack xen
TESTS_linux := linux
TESTS_package := package
TESTS_docs := docs
TESTS_tools := tools bench prove
ifneq ($(filter-out $(AREAS),$(AREA)),)
$(error AREA is $(AREA), and not among: $(AREAS))
endif
TEST_FOLDERS = $(foreach area,$(AREA),$(TESTS_$(area):%=tests/%))

.PHONY: help build demo playground site test test-all rule-check tests-of hunt prove proofs \
        checker misra misra-xen clang-tidy core-builds bench gallery check format lock deps wheels \
        deb release clean \
        xen xen-x86 xen-debug xen-stock xen-tools guests linux-guest linux-rt-guest always \
        all-checks check-clang-format check-ruff check-types check-layers check-circles check-core \
        check-files check-dependencies

help:
	@sed -n 's/^## //p' Makefile

## make build        .venv with the locked dependencies and the project itself, editable
build:
	@tools/prerequisites check $(PYTHON)
	@mkdir -p build out
	@flock build/.lock $(MAKE) --silent .venv/.project

# Edits of a module are live; a module that came, moved or went needs an installation.
build/.modules: always
	@find src/hyperperiod -name '*.py' | sort | cmp -s - $@ || \
	  find src/hyperperiod -name '*.py' | sort > $@

$(UV): tools/uv.txt
	@$(STEP) "uv" tools/get_uv $(PYTHON) build/uv
	@touch $@

build/.place: always
	@echo "$(CURDIR)" | cmp -s - $@ || { rm -rf .venv && echo "$(CURDIR)" > $@; }

.venv/.dependencies: uv.lock $(UV) build/.place
	@$(STEP) "virtual environment" $(UV) sync --quiet --frozen --no-install-project --all-extras \
	  --python $(PYTHON)
	@touch $@

.venv/.project: .venv/.dependencies pyproject.toml CMakeLists.txt build/.modules $(NATIVE)
	@$(STEP) "native modules and package" $(UV) pip install --quiet --no-deps --reinstall \
	  --no-build-isolation --editable .
	@touch $@

## make demo         analyze, simulate and run an example system on Xen; writes pages to out/
demo:
	@tools/prerequisites install $(PYTHON)
	@$(MAKE) --no-print-directory build
	@mkdir -p out
	@$(STEP) "analysis" $(BIN)/hyperperiod analyze systems/flight-control.toml
	@$(STEP) "simulation" $(BIN)/hyperperiod simulate systems/flight-control.toml \
	  --report out/flight-control.html
	@echo "The report is in out/flight-control.html: open it in any browser."
	@tools/demo_on_xen $(PYTHON) systems/flight-control.toml out/flight-control-on-xen.html

## make playground   the simulator as a page, build/playground.html: docs/playground.md;
##                   SYSTEMS="a.toml ...": with these to begin with
playground: build
	@tools/prerequisites check $(PYTHON) wasm
	@$(STEP) "simulator for web pages" $(MAKE) --silent -f hosts/sim/wasm/Makefile
	@$(STEP) "playground" $(BIN)/python -m docs.playground build/playground.html $(SYSTEMS)

## make site         the documentation with search, in build/site: open index.html there
site: build
	@$(STEP) "site" env NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@test ! -e build/playground.html || cp build/playground.html build/site/
	@echo "Open build/site/index.html; search needs a server: python3 -m http.server -d build/site"

## make test         build, then every fast test; OPTIONS: more for pytest, such as -k NAME
## make test AREA=X  those of core, sim, analysis, model, cli, report, xen, linux, package, docs,
##                   tools
test: build
	@$(STEP) "tests" $(PYTEST) $(TEST_FOLDERS) $(OPTIONS)

## make test-all     the slow ones too: long fuzzing, every combination of rules
test-all: build
	@$(STEP) "all tests" $(PYTEST) -m "slow or not slow"

## make hunt         systems of every row of the table of proofs, analysed and attacked;
##                   ROWS=cbs+fp,... KINDS=whole,vcpus,chain COUNT=1000 SEED=1 PROCESSES=1
##                   STATE=out/hunt.json
hunt: build
	@$(BIN)/python -m tests.soundness.hunt_rows $(ROWS:%=--rows=%) $(KINDS:%=--kinds=%) \
	  $(COUNT:%=--count=%) $(SEED:%=--seed=%) $(PROCESSES:%=--processes=%) $(STATE:%=--state=%)

## make rule-check RULE=x  what the budget rule x lacks (row, model, trace class, page), and what
##                   judges it: compilers, fuzzer, naive model, traces
rule-check: build
	@$(BIN)/python tools/rule_check.py $(RULE)

## make tests-of WHAT=x  the tests of a rule, a policy or a command; without WHAT: of all
tests-of: build
	@$(BIN)/python -m tools.tests_of $(WHAT)

## make prove        verbs of the core's accounts, proved by CBMC for all inputs: docs/proved.md;
##                   ONLY=deplete,... LONG=1: also long ones; MUTANTS=1: seeded faults, which
##                   must be seen
prove: build
	@$(STEP) "proofs" $(BIN)/python -m tests.prove.prove $(ONLY:%=--only=%) \
	  $(MUTANTS:%=--mutants) $(LONG:%=--all)

## make proofs       theorems of the analysis, checked by Coq: docs/analysis/proofs.md
proofs:
	@$(STEP) "theorems" $(PYTHON) tools/check_theorems.py

## make checker      build/hyperperiod-check, the checker of certificates, extracted from proofs/
checker:
	@$(STEP) "checker" $(PYTHON) -m tools.build_checker

## make misra        MISRA C:2012 on the core, by cppcheck; departures from it: docs/misra.md
misra: build
	@$(STEP) "misra" $(BIN)/python -m tools.check_misra

## make misra-xen    the same on the glue for Xen, with the headers of the Xen of make xen
misra-xen: build
	@$(STEP) "misra of the glue for Xen" $(BIN)/python -m tools.check_misra xen

## make clang-tidy   clang-tidy on the core: bugprone, cert, misc, the analyzer and others; what is
##                   left out stands in .clang-tidy, with the reason
clang-tidy: build
	@$(STEP) "clang-tidy" $(BIN)/python tools/check_tidy.py

## make core-builds  the core under every compiler it must pass: hosted, freestanding, BPF
core-builds: build
	@$(STEP) "core builds" $(BIN)/python -m pytest -q tests/core_builds

## make xen          Xen for arm64 with the scheduler, and the guests; XEN_SRC=DIR: from that tree
xen: build
	@$(XEN_BUILD) arm64

## make xen-x86      Xen for x86_64 with the scheduler
xen-x86: build
	@$(XEN_BUILD) x86_64

## make xen-debug    Xen for both with the scheduler, which checks itself at every decision
xen-debug: build
	@$(XEN_BUILD) arm64-debug x86_64-debug

## make xen-stock    Xen for arm64 without it: the peers that it is compared with
xen-stock: build
	@$(XEN_BUILD) arm64-stock

## make guests       the bare-metal programs that run in Xen's domains
guests: build
	@$(XEN_BUILD) guests

## make linux-guest  for domains with guest = "linux": Debian's kernel, tasks as threads;
##                   make linux-rt-guest: its real-time kernel, for guest = "linux-rt"
linux-guest linux-rt-guest: build
	@$(XEN_BUILD) $@

## make xen-tools    hyperperiod-xen, the tool for dom0
xen-tools: build
	@$(XEN_BUILD) tools

## make bench        measure; prints a table and writes bench/results.json
bench: build
	@$(STEP) "benchmarks" $(BIN)/python -m bench

## make gallery      measure every figure of the papers again; writes docs/reproduction.md
gallery: build
	@$(STEP) "gallery" $(BIN)/python -m docs.gallery

## make check        formatting, types, licences, layers, the core's rules, dependencies
check: build
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) --output-sync=target all-checks
all-checks: check-types check-ruff check-clang-format check-layers check-circles check-core \
            check-files check-dependencies
check-clang-format:
	@$(STEP) "clang-format" tools/clang_format --dry-run --Werror $(C_SOURCES)
check-ruff: build
	@$(STEP) "ruff format" $(BIN)/ruff format --check --quiet .
	@$(STEP) "ruff" $(BIN)/ruff check --quiet .
check-types: build
	@$(STEP) "mypy" $(BIN)/mypy
check-layers check-circles check-core check-files: check-%: build
	@$(STEP) "$*" $(BIN)/python tools/check_$*.py

check-dependencies: build
	@$(STEP) "lock file" $(UV) lock --quiet --check --offline
	@$(STEP) "imports" $(BIN)/deptry --no-ansi src

## make format       rewrite C, C++ and Python sources in the project's format
format: build
	@tools/clang_format -i $(C_SOURCES)
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

## make lock         resolve pyproject.toml anew into uv.lock; UPGRADE=1: the newest of everything
lock: build
	@$(STEP) "lock file" $(UV) lock --quiet $(if $(UPGRADE),--upgrade)

## make deps         as root: the Debian or Ubuntu packages that all checks and tests use
deps:
	@$(STEP) "packages" tools/install_packages

## make wheels       wheels for x86_64 and aarch64 and the sources, into dist/, for the Pythons that
##                   are there; ALL=1: all of a release, or an error
wheels: build
	@$(BIN)/hyperperiod linux build
	@$(STEP) "wheels" $(BIN)/python -m tools.make_wheels $(if $(ALL),--all)

## make deb          the package of hyperperiodd for Debian and Ubuntu, into dist/
deb: build
	@$(BIN)/hyperperiod linux build
	@$(STEP) "deb" $(BIN)/python -m tools.make_deb

## make release VERSION=X.Y.Z  checks, tests, builds dist/ and tags; publishes nothing
release:
	@tools/release "$(VERSION)"

## make clean        remove everything that building and running left behind
clean:
	rm -rf .venv build dist out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
