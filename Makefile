# `make demo` runs the whole chain on generated scenes, `make test` runs the tests; both first install what is missing
# (PELT_NO_INSTALL=1: only list it). The work is done by scripts/ and CMakePresets.json.
PREFIX ?= /usr/local
MINUTES ?= 1

.DEFAULT_GOAL := build
.PHONY: help setup setup-build build release demo test test-all test-platforms gauntlet interop bench wheel fuzz coverage docs-pictures docs-tables docs-api format blender studio dist install clean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## install what is missing: Debian packages, npm packages (PELT_NO_INSTALL=1: only list it)
	@scripts/setup test

setup-build: # only what the program and the demo need
	@scripts/setup build

build: setup-build ## build/release/bin/pelt, and the libraries
	@scripts/build.sh program

release: # also benchmarks and tests
	@scripts/setup bench
	@scripts/build.sh release

demo: build ## make scenes, run the whole chain on them, show the figures; files in out/demo/
	@scripts/demo.sh

test: setup ## tests: gcc, clang, sanitizers, installed package, real data
	@scripts/test.sh

test-all: setup ## the same, then what is slow: whole gauntlet and interop, build switches, fuzzing
	@scripts/test.sh --all

test-platforms: ## tests on other platforms, or on some: PLATFORMS='windows static'
	@scripts/setup platforms $(PLATFORMS)
	@scripts/platforms.sh $(PLATFORMS)

gauntlet: setup release ## every verb without options on all real files and random scenes; writes docs/gauntlet.md
	@node tests/gauntlet/gauntlet.mjs build/release/bin/pelt build/release/bin/pelt-scenes build/release/bin/tool_pose \
		--write docs/gauntlet.md

interop: setup release ## what other programs make of Pelt's files, and Pelt of theirs; writes docs/interop.md
	@node tests/interop/interop.mjs build/release/bin/pelt build/release/bin/pelt-scenes build/release/bin/tool_pose \
		--rigs --write docs/interop.md

bench: release ## run the benchmarks
	@scripts/bench.sh

wheel: setup-build ## build/wheel/pelt-*.whl: the Python package
	@PELT_WHEEL_BUILD=$(CURDIR)/build/wheel/module /usr/bin/python3 python/backend.py build/wheel

fuzz: setup ## fuzz every format, JSON and the command line for MINUTES=n each
	@scripts/fuzz.sh $(MINUTES)

coverage: setup ## line coverage of src/ by the unit tests and corpus replays
	@scripts/coverage.sh

docs-tables: release ## run the benchmarks whose figures stand in docs/ and write their tables
	@node scripts/docs-tables.mjs build/release/bin $(TABLES)

docs-pictures: setup release ## draw docs/pictures/ from Pelt's own scenes
	@scripts/docs-pictures.sh

docs-api: setup-build ## API reference of the public headers: out/api/index.html
	@node scripts/docs-api.mjs out/api/index.html

format: ## lay out the sources as .clang-format says
	@git ls-files '*.c' '*.cc' '*.h' | xargs clang-format -i

blender: setup-build ## the Blender add-on: build/pelt-blender-VERSION.zip, and one with the program for this system
	@scripts/blender-zip.sh

studio: ## build/studio/studio.html: the studio, one page with the whole library in it
	@scripts/setup platforms wasm
	@scripts/studio.sh

dist: ## build/dist/: archives of all platforms, Debian packages, npm package, wheel, Blender add-on, checksums
	@scripts/setup platforms dist
	@scripts/dist.sh

install: build ## install under PREFIX=/usr/local
	@cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove build/ and out/
	@rm -rf build out
