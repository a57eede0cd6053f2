# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tarn authors

# Products stay outside of the clone, so that a fresh clone builds quickly. TARN_BUILD names another place.
SCRATCH := "$${TARN_BUILD:-$$HOME/.cache/tarn-build}"
FLAGS := --explicit-target-dependency-import-check error
BUILD := swift build --scratch-path $(SCRATCH) $(FLAGS)
# Debug products of all targets and tests, and of the example. TESTS_BUILT=1 skips it, for lanes that follow each other.
TESTS_BUILT :=
BUILD_TESTS = $(if $(TESTS_BUILT),,TARN_EXAMPLES=1 $(BUILD) --build-tests)
TEST := env TARN_EXAMPLES=1 swift test --skip-build --scratch-path $(SCRATCH) $(FLAGS)

# Programs with Swift's runtime inside run where Swift is not installed.
STATIC := $(SCRATCH)-static
BUILD_STATIC := swift build --scratch-path $(STATIC) $(FLAGS) -c release --static-swift-stdlib

# Before programs of the benchmark are built.
RELEASE_NOTE = test -x $(SCRATCH)/release/bench || echo "Building for release: up to 17 minutes on 2 cores the first time."

# Where `make install` puts the programs; packagers set DESTDIR.
PREFIX := $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
DESTDIR :=
# The package that projects of an installed `tarn new` depend on: this clone, and for a release the URL that it came from, or none.
SOURCE :=
RELEASE_SOURCE = $(or $(SOURCE),$(filter http%,$(shell git remote get-url origin 2> /dev/null)))
# Where `make release` puts its files.
RELEASE := .build-release

# OPTIONS go to the program: `make bench OPTIONS=--no-large`.
OPTIONS :=
# Where `make bench-anchors` puts what the server is compared with.
# PostgreSQL does not run as root, and its user cannot enter root's home folder.
ANCHORS := "$${TARN_BENCH_ANCHORS:-$(if $(filter 0,$(shell id -u)),/var/cache,$$HOME/.cache)/tarn-bench-anchors}"

# All at once, a test with a few seconds of work would end minutes after it began, and every limit of time be too short.
TESTS_AT_ONCE := 8

# Targets whose tests take long, or start processes: `make quick` leaves them out.
SLOW := '^(CloudCollaboration|CloudKitTesting|CloudMirroring|CloudServer|EndToEnd|ModelTool|ObjectGraph|Simulation|TarnMirror)Tests\.'
# Tests that `make quick` runs, as a regular expression over Target.Suite/test.
ONLY :=

# Suites that `make sanitize` runs.
SANITIZED := '^(CloudConsole|CloudEngine|CloudEngineSQLite|CloudIdentity|CloudKit|CloudMirroring|CloudServer|CloudService|CloudWire|ManagedModel|ObjectGraph|Parity|PredicateKit|SQLiteStore|SystemSupport)Tests\.'

# Seeds that `make simulate` runs, from FIRST on; with SEED it runs that one alone and prints what happens.
SEEDS := 1000
FIRST := 1

# Suites whose statements `make statements` records.
RECORDED := '^(CloudConsole|CloudEngine|CloudEngineSQLite|CloudIdentity|CloudInProcess|CloudKit|CloudKitTesting|CloudMirroring|CloudServer|CloudService|EndToEnd|Simulation|TarnCommands)Tests\.'

# Seconds for each target of `make fuzz`.
SECONDS_EACH := 60

.PHONY: help demo check build static install uninstall release release-source pin tests-built test test-postgres lint quick api api-update web docs docs-check examples sanitize fuzz requests attack overload streams soak ha \
	bench bench-anchors simulate simulate-values statements packages test-packages web-packages docs-packages static-packages
.DEFAULT_GOAL := build

## This list.
help:
	@awk '/^## / { text = text (text == "" ? "" : " ") substr($$0, 4); next } /^[a-z-]+:/ { if (text != "") { split($$1, name, ":"); sub(/[.;:] .*/, ".", text); printf "make %-16s %s\n", name[1], text } text = "" } /^$$/ { text = "" }' Makefile

## The server and two devices, on one page. Builds two programs in debug, which is the fastest way to see them. OPTIONS go to
## `tarn demo`.
demo: packages
	@test -x $(SCRATCH)/debug/posts || echo "Building the server and the sample app: about 10 minutes on 2 cores the first time, seconds after that."
	@$(BUILD) --product tarn
	@$(BUILD) --product posts
	@exec $(SCRATCH)/debug/tarn demo $(OPTIONS)

## The scenario of the demo, without a page: one line of JSON, and exit code 0 if both devices converge.
check: build
	@exec $(SCRATCH)/release/tarn demo --check --json

## The programs, in release.
build: packages
	@$(BUILD) -c release --product posts
	@$(BUILD) -c release --product tarn

## The programs, in release, with Swift's runtime inside.
static: packages static-packages
	@test -x $(STATIC)/release/tarn || echo "Building tarn and the sample app for release: about 17 minutes on 2 cores the first time."
	@$(BUILD_STATIC) --product posts
	@$(BUILD_STATIC) --product tarn

## Installs `tarn` with completions and manual pages below PREFIX: ~/.local, and /usr/local for root.
install: static
	@Packaging/install-files $(STATIC)/release "$(DESTDIR)" "$(PREFIX)" "$(or $(SOURCE),$(CURDIR))"
	@echo "Installed tarn in $(DESTDIR)$(PREFIX)/bin."
	@case ":$$PATH:" in *:"$(PREFIX)/bin":*) ;; *) echo "Add it to your path: export PATH=\"$(PREFIX)/bin:\$$PATH\"" ;; esac

## Removes what `make install` installed, and no data.
uninstall:
	@Packaging/install-files --remove "$(DESTDIR)" "$(PREFIX)"

## The files of a release in RELEASE: tarball, Debian package, Dockerfile, bill of materials, checksums. SOURCE is the URL of the package.
release: release-source pin static
	@Packaging/release $(STATIC)/release "$(RELEASE)" "$(RELEASE_SOURCE)"

# Before the build, which takes long.
release-source:
	@Packaging/release --check-source "$(RELEASE_SOURCE)"

## Resolves the versions of packages that releases are built with.
pin: packages static-packages
	@Packaging/dependencies --pin $(STATIC)

## Formatter rules, the English of comments and messages, and the console's files.
lint: web-packages
	.ci/lint
	.ci/prose --check
	Packaging/deployment/generate --check
	node .ci/lint-web.mjs
	node .ci/lint-web.mjs Documentation/Site/Web

## The tests outside of the SLOW targets, to be run after each change. ONLY chooses some of them, or others.
quick: tests-built
	$(TEST) --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) $(if $(ONLY),--filter '$(ONLY)',--skip $(SLOW))

## The public API of the libraries, compared with the lists in Tests/PublicAPI; `make api-update` rewrites the lists.
api: tests-built
	.ci/public-api $(SCRATCH)
api-update: tests-built
	.ci/public-api $(SCRATCH) --update

## Everything that tests need, in debug.
tests-built: packages
	@test -x $(SCRATCH)/debug/Notebook || echo "Building all tests: about 13 minutes on 2 cores the first time."
	$(BUILD_TESTS)

## Every test, in debug: units, the loop in process, real processes, the page in a browser; and the example.
test: tests-built test-packages web-packages
	@echo "Running every test: about 12 minutes on 2 cores."
	TARN_PAGE_PYTHON="$$(.ci/browser-python "$$HOME/.cache/tarn-python")" \
		TARN_OIDC_PROVIDER="$$(.ci/oidc-provider "$$HOME/.cache/tarn-oidc-provider")" \
		TARN_S3_SERVER="$$(.ci/s3-server "$$HOME/.cache/tarn-s3-server")" \
		.ci/failures-last $(TEST) --experimental-maximum-parallelization-width $(TESTS_AT_ONCE)
	$(SCRATCH)/debug/Notebook
	@$(MAKE) web

## The tests of the server's engine, service, sign-in, HTTP and console, whose data is in PostgreSQL then.
ON_POSTGRES := '^(CloudConsole|CloudEngine|CloudIdentity|CloudServer|CloudService)Tests\.'
test-postgres: tests-built test-packages
	TARN_TEST_STORAGE=postgres TARN_OIDC_PROVIDER="$$(.ci/oidc-provider "$$HOME/.cache/tarn-oidc-provider")" \
		.ci/failures-last $(TEST) --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter $(ON_POSTGRES)

## Lints scripts, styles and templates of the console and the documentation, and tests the scripts outside of a browser. Needs Node.js.
web: web-packages
	node .ci/lint-web.mjs
	node .ci/lint-web.mjs Documentation/Site/Web
	node --test Tests/WebTests/*.test.mjs

## The example package and a project of `tarn new`, built as an app's own package is, and run: in debug and in release.
CONFIGURATIONS := debug release
examples: packages
	@test -d $(SCRATCH)-examples/debug || echo "Building tarn, then Tarn again for apps, in debug and in release: about half an hour on 2 cores the first time."
	@$(BUILD) --product tarn
	@.ci/examples $(SCRATCH)/debug/tarn $(SCRATCH)-examples $(CONFIGURATIONS)

## The server, sync, and what handles threads and raw memory, under the thread sanitizer, then under the address sanitizer. Each has
## products of its own. Leaks are not looked for: the test library itself leaks at its end. One test after the other, for what
## .ci/thread-suppressions says of mutexes.
sanitize: packages
	@for kind in thread address; do \
		echo "$$kind sanitizer"; \
		ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS="suppressions=$(CURDIR)/.ci/thread-suppressions" \
			swift test --sanitize=$$kind --scratch-path $(SCRATCH)-$$kind \
			--no-parallel --filter $(SANITIZED) || exit 1; \
	done

## Coverage-guided fuzzing of requests, schemas, queries, forms, tokens, headers, sign-in, predicates, push and snapshots, from the corpus that the tests read, too; what fails goes into
## it. `make fuzz SECONDS_EACH=3600` looks longer.
fuzz:
	@.ci/fuzz $(SCRATCH)-fuzz $(SECONDS_EACH)

## The works of Documentation/Benchmarks.md, beside what others need for them: a table, and Benchmarks/results.json.
bench: packages
	@TARN_BENCH=1 $(BUILD) -c release --product bench
	@$(BUILD) -c release --product tarn
	@$(SCRATCH)/release/bench --tarn $(SCRATCH)/release/tarn --anchors $(ANCHORS) --output Benchmarks/results.json $(OPTIONS)

## Requests from the OpenAPI document, valid and nearly valid, of REQUEST_SEEDS seeds; and each cell of the attack matrix.
REQUEST_SEEDS := 100
requests: tests-built
	TARN_OPENAPI_SEEDS=$(REQUEST_SEEDS) TARN_MATRIX=full $(TEST) --filter '^(CloudServerTests\.OpenAPITests|CloudServiceTests\.AttackMatrixTests)'

## Attacks on a server in release that may use little memory, beside a user that saves; fails if saves wait. OPTIONS go to it.
attack: packages
	@$(RELEASE_NOTE)
	@echo "Each attack takes 13 seconds."
	@TARN_BENCH=1 $(BUILD) -c release --product bench
	@$(BUILD) -c release --product tarn
	@$(SCRATCH)/release/bench attack --tarn $(SCRATCH)/release/tarn $(OPTIONS)

## Four times the load that a release server can serve: latency of accepted and refused requests, and memory.
overload: packages
	@TARN_BENCH=1 $(BUILD) -c release --product bench
	@$(BUILD) -c release --product tarn
	@$(SCRATCH)/release/bench overload --tarn $(SCRATCH)/release/tarn $(OPTIONS)

## 1,000 and 10,000 held push streams: memory, and the time until a change reaches all. The limit of open files must allow them.
streams: packages
	@TARN_BENCH=1 $(BUILD) -c release --product bench
	@$(BUILD) -c release --product tarn
	@$(SCRATCH)/release/bench streams --tarn $(SCRATCH)/release/tarn $(OPTIONS)

## A server under load that is killed, whose disk fills up and whose clock jumps; fails if an acknowledged change is missing.
## SEED repeats a run.
SECONDS := 600
soak: packages
	@$(RELEASE_NOTE)
	@echo "The server runs for $(SECONDS) seconds then."
	@.ci/install-packages faketime || echo "Without faketime the clock does not jump." >&2
	@TARN_BENCH=1 $(BUILD) -c release --product bench
	@$(BUILD) -c release --product tarn
	@$(SCRATCH)/release/bench soak --tarn $(SCRATCH)/release/tarn --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(OPTIONS)

## Two servers on three PostgreSQL nodes under Patroni: kills and freezes processes while clients save; fails if an acknowledged save is
## lost or executed twice. OPTIONS=--faults=kill-leader chooses.
ha: packages
	@$(BUILD) --product tarn
	@.ci/ha $(SCRATCH)/debug/tarn $(OPTIONS)

## Kinto over PostgreSQL, in a folder of their own, for `make bench`.
bench-anchors:
	@.ci/install-packages postgresql python3-venv
	@.ci/bench-anchors $(ANCHORS)

## Records the statements that run on the mirror's tables and on the server's database, for the tests of their plans.
STATEMENTS_LOG := $(SCRATCH)/statements.log
statements: tests-built
	@rm -f $(STATEMENTS_LOG)
	-@TARN_STATEMENTS=$(STATEMENTS_LOG) $(TEST) --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter '$(RECORDED)'
	@TARN_STATEMENTS_RECORDED=$(STATEMENTS_LOG) $(TEST) --filter recordedStatementsAreListed
	@rm -f $(STATEMENTS_LOG)

## Devices, users and a server through faults that seeds decide: Documentation/Simulation.md. STORAGE is sqlite or postgres.
simulate: packages
	@$(BUILD) -c release --product simulate
	@$(SCRATCH)/release/simulate $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --first $(FIRST)) $(if $(STORAGE),--storage $(STORAGE))

## The decisions of sync alone, on devices and a server that are values: seeds from FIRST on, or one SEED with its events.
simulate-values: packages static-packages
	@$(BUILD_STATIC) --product simulate-values
	@$(STATIC)/release/simulate-values $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --first $(FIRST)) \
		$(if $(CANARY),--canary $(CANARY)) $(if $(FEATURES),--features $(FEATURES))

## The documentation as a site of static pages in OUTPUT: guides, reference, search. A dead link is an error.
OUTPUT := .build-docs
docs: tests-built docs-packages
	@echo "Building the site: some minutes on 2 cores."
	@.ci/docs $(SCRATCH) $(OUTPUT)

## `make docs`, then the site in a browser: search, links, keyboard, phone, faults of accessibility.
docs-check: docs test-packages
	@/usr/bin/python3 Documentation/Site/unit_tests.py
	@"$$(.ci/browser-python "$$HOME/.cache/tarn-python")" Documentation/Site/browser_test.py $(OUTPUT)

# Swift, and what the build needs besides.
packages:
	@.ci/check-swift
	@.ci/install-packages libpq-dev libsqlite3-dev zlib1g-dev

# What Swift's runtime needs when it is linked statically: FoundationXML, and FoundationNetworking, which TarnMirror uses. Python writes the
# manual pages.
static-packages:
	@.ci/install-packages libxml2-dev libcurl4-openssl-dev python3

# What the console's scripts are checked with. Any Node.js from version 18 on does.
web-packages:
	@command -v node >/dev/null || .ci/install-packages nodejs

# What colours the code of the documentation.
docs-packages:
	@.ci/install-packages python3 python3-pygments

# What the test of the page needs.
test-packages:
	@.ci/install-packages chromium fonts-dejavu-core postgresql python3
