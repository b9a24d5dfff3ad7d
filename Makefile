# Everything that a developer types; `make` alone lists it. Logic is in scripts/, results are in .venv, target and build.

PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
CARGO := cargo --locked
export CARGO_TARGET_DIR := $(CURDIR)/target
export PYO3_PYTHON := $(CURDIR)/$(PY)
TESTKIT = target/release/sapwood-testkit
export SAPWOOD_TESTKIT = $(CURDIR)/$(TESTKIT)
# The servers of the tests are local, whatever proxy the machine uses.
export NO_PROXY := 127.0.0.1,localhost,$(NO_PROXY)
export SAPWOOD_CORPUS ?= $(abspath ../shared/corpus)
# With a HOME of its own, rustup finds its toolchains beside the cargo that PATH names.
ifeq ($(or $(RUSTUP_HOME),$(wildcard $(HOME)/.rustup)),)
export RUSTUP_HOME := $(wildcard $(abspath $(dir $(shell command -v cargo))../../.rustup))
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
BENCHES := bench $(addprefix bench-,objects rntuple remote links learned loops wide columns mounts mix sources write repack threads stripe studies)
.PHONY: help demo test build root-plugin servers wheel local-wheel check lint types layers docs serve-docs test-rust test-python $(BENCHES) conformance ecosystem fuzz format clean

help: ## list the targets
	@echo "make TARGET, with TARGET one of"
	@sed -nE 's/^([a-z -]+):.*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

# --- the two commands of the README -----------------------------------------------------------------------------
demo: build $(TESTKIT) ## make a NanoAOD-like file, read it from disk and over a slow network, next to uproot
	@$(PY) scripts/demo.py
test: .venv/.tools ## everything: lint, types, Rust, Python, conformance, documents
	@MAKE=$(MAKE) sh scripts/test.sh

# --- building ---------------------------------------------------------------------------------------------------
build: .venv/.core ## the virtual environment .venv with sapwood in it; reads root:// if XRootD's client is there
	@sh native/xrdcl/build.sh python/sapwood
root-plugin: ## ROOT's plugin and the C library, in build/root-plugin; needs ROOT and a C++ compiler
	@$(CARGO) build --release --quiet -p sapwood-c && sh native/root/build.sh target/release/libsapwood_c.so build/root-plugin
servers: .venv/.tools ## install the real servers that the tests need, where that can be done
	@sh scripts/xrootd.sh && sh scripts/s3.sh && sh scripts/s3s.sh && sh scripts/nginx.sh && sh scripts/postgres.sh && sh scripts/radosgw.sh && sh scripts/root.sh "$(PYTHON)"

.venv/.tools: requirements-dev.txt scripts/venv.sh
	@sh scripts/venv.sh "$(PYTHON)" .venv requirements-dev.txt
	@touch $@

.venv/.core: .venv/.tools pyproject.toml $(RUST_SOURCES)
	@sh scripts/toolchain.sh
	@PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet
	@touch $@

# With the features that all crates need, as they are compiled for the extension and for the tests.
target/%/sapwood-testkit: $(RUST_SOURCES)
	@$(CARGO) build $(if $(filter release,$*),--release) --quiet --workspace --bin sapwood-testkit && touch $@
wheel: .venv/.tools ## a wheel for Linux, glibc 2.28 or newer (set ARCHITECTURE for x86_64 or aarch64), and an sdist, in build/wheels
local-wheel: build ## a wheel for systems like this one, for the tests
wheel local-wheel:
	@sh scripts/wheel.sh build/wheels $(if $(filter wheel,$@),portable)

# --- checking ---------------------------------------------------------------------------------------------------
check: lint layers types ## what is quick: style, lints, types, file sizes, the order of crates and packages
lint: .venv/.tools
	@sh scripts/toolchain.sh
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@sh scripts/rust_lint.sh && $(PY) scripts/check_sizes.py
layers: .venv/.tools ; @for check in layers python_layers module_cycles; do $(PY) scripts/check_$$check.py || exit 1; done
types: .venv/.tools ; $(BIN)/mypy
test-rust: build ## the tests of the crates
	SAPWOOD_XRDCL="$$(ls $(CURDIR)/python/sapwood/_xrdcl*.so 2>/dev/null | tail -n 1)" $(CARGO) test --workspace --quiet
test-python: TESTKIT = target/debug/sapwood-testkit
test-python: export PYTHONDONTWRITEBYTECODE = # the tests start hundreds of processes of the package
test-python: build target/debug/sapwood-testkit ; $(PY) -m pytest -q ## the tests of the package, the command line and the corpus

docs: .venv/.core target/debug/sapwood-testkit ## build the documents into site/, strictly
serve-docs: .venv/.core target/debug/sapwood-testkit ## the documents at a local address, rebuilt as they change
docs serve-docs:
	@sh scripts/docs.sh $(if $(filter docs,$@),build,serve)
# --- more -------------------------------------------------------------------------------------------------------
bench: build ## measure against other readers and writers; writes docs/benchmarks/results
bench-objects: build ## only objects: products of MiniAOD-like and xAOD-like files
bench-remote bench-links: build servers ## only root://, http:// and s3://, at low and high latency, or slow links
bench-rntuple bench-learned: build servers ## only RNTuples, or lazy reading of columns that are not declared
bench-loops: build servers ## only loops over many files
bench-wide bench-columns bench-mounts: build ## only wide trees and data tiers, second runs, a mount
bench-mix: build servers ## only background events of a pool, next to ROOT
bench-sources: build servers ## only reading one file from several replicas
bench-write: build ## only writing files
bench-repack: build ## only repacking and merging files
bench-stripe bench-threads: build servers ## only datasets in object stores, or the gain of threads
bench-studies: build ## only the sweeps of file layouts
$(BENCHES): $(TESTKIT)
	@sh bench/run.sh $(filter-out bench,$(@:bench-%=%))

conformance: build ## compare with the corpus of real files; writes the tables of docs/conformance.md
	@$(PY) tests/conformance/report.py build/conformance && $(PY) bench/paste.py docs/conformance.md build/conformance
ecosystem: build ; @$(PY) scripts/ecosystem.py ## run the test suites of uproot and coffea with sapwood
fuzz: ; @sh scripts/fuzz.sh 60 ## run every fuzz target for a minute (needs cargo-fuzz)
format: .venv/.tools ## format Rust and Python
	cargo fmt --all ; $(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .
clean: ; rm -rf .venv build site target ## remove what was built
