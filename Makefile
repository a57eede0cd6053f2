# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors

# Products stay outside of the clone, so that a fresh clone builds quickly. TARN_BUILD names another place.
SCRATCH := "$${TARN_BUILD:-$$HOME/.cache/tarn-build}"
# A class's members that others cannot see still shape its layout; scheduling by what others can see would keep code
# that was compiled for the old layout (-disable-incremental-imports).
BUILD := swift build --scratch-path $(SCRATCH) --explicit-target-dependency-import-check error -Xswiftc -disable-incremental-imports

# Benchmarks are a package of their own, with products of their own. OPTIONS go to the program: `make bench OPTIONS=--no-large`.
BENCH_SCRATCH := "$${TARN_BENCH_BUILD:-$$HOME/.cache/tarn-bench}"
OPTIONS :=

# Suites that `make sanitize` runs.
SANITIZED := '^(ManagedModel|ObjectGraph|Parity|PredicateKit|SQLiteStore)Tests\.'

# Seeds that `make simulate` runs, from FIRST on; with SEED it runs that one alone and prints what happens.
SEEDS := 1000
FIRST := 1

.PHONY: demo check build test examples sanitize bench simulate packages test-packages
.DEFAULT_GOAL := build

## The server and two devices, on one page.
demo: build
	@exec $(SCRATCH)/release/tarn demo

## The scenario of the demo, without a page: one line of JSON, and exit code 0 if both devices converge.
check: build
	@exec $(SCRATCH)/release/tarn demo --check --json

## The programs, in release.
build: packages
	@$(BUILD) -c release --product posts
	@$(BUILD) -c release --product tarn

## Every test, in debug: units, the loop in process, real processes, the page in a browser; and the example package.
test: packages test-packages
	$(BUILD) --build-tests
	TARN_PAGE_PYTHON="$$(.ci/browser-python "$$HOME/.cache/tarn-python")" \
		swift test --skip-build --scratch-path $(SCRATCH) --explicit-target-dependency-import-check error \
		-Xswiftc -disable-incremental-imports
	@$(MAKE) examples

## The example package, built as an app's own package would be, and run: in debug and in release.
examples: packages
	swift run --package-path Examples/Notebook --scratch-path $(SCRATCH)-notebook Notebook
	swift run --package-path Examples/Notebook --scratch-path $(SCRATCH)-notebook -c release Notebook

## What handles threads and raw memory, under the thread sanitizer, then under the address sanitizer. Each has products of
## its own. Leaks are not looked for: the test library itself leaks at its end.
sanitize: packages
	@for kind in thread address; do \
		echo "$$kind sanitizer"; \
		ASAN_OPTIONS=detect_leaks=0 swift test --sanitize=$$kind --scratch-path $(SCRATCH)-$$kind \
			-Xswiftc -disable-incremental-imports --filter $(SANITIZED) || exit 1; \
	done

## The works of Documentation/Benchmarks.md, beside SQLite's C API and GRDB: a table, and Benchmarks/results.json.
bench: packages
	@# Plans are kept until files of Benchmarks come or go; those of the library, a folder beside it, do not count.
	@rm -f $(BENCH_SCRATCH)/release.yaml
	@swift build -c release --package-path Benchmarks --scratch-path $(BENCH_SCRATCH) -Xswiftc -disable-incremental-imports
	@$(BENCH_SCRATCH)/release/bench --output Benchmarks/results.json $(OPTIONS)

## Devices, users and a server through faults that seeds decide: Documentation/Simulation.md.
simulate: packages
	@$(BUILD) -c release --product simulate
	@$(SCRATCH)/release/simulate $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --first $(FIRST))

# What the build needs besides Swift.
packages:
	@.ci/install-packages libsqlite3-dev zlib1g-dev

# What the test of the page needs.
test-packages:
	@.ci/install-packages chromium fonts-dejavu-core python3
