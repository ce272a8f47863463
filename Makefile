# `make demo` and `make test` set up everything they need on a fresh Debian 12 or Ubuntu 24.04.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
MACHINE := $(shell uname -m)

# What compiles and runs whyperf, and what its tests and benchmarks need beyond that.
PACKAGES := gcc libc6-dev make cmake ninja-build pkg-config python3-dev python3-venv libdw-dev libelf-dev zlib1g-dev \
	clang llvm libbpf-dev bpftool valgrind
TEST_PACKAGES = g++ clang llvm libclang-rt-dev gdb binutils elfutils dwz libunwind-dev libc6-dbg $(FOREIGN_$(MACHINE)) musl-tools busybox-static \
	redis-server redis-tools procps iproute2 chromium protobuf-compiler golang-github-google-pprof-dev nginx \
	apache2-utils linux-perf liburing-dev libglib2.0-dev libuv1-dev git hyperfine libbenchmark-dev fish qemu-user-static libjemalloc-dev libgoogle-perftools-dev $(SOURCE_PACKAGES) \
	$(shell command -v rustc >/dev/null || echo rustc)
BENCH_PACKAGES = linux-perf coz-profiler gdb clang strace uftrace redis-server redis-tools valgrind $(ODD_PACKAGES) $(SERVER_PACKAGES) $(STALL_PACKAGES) $(SOURCE_PACKAGES)
# Compilers for programs of other machines; an emulator runs what they make.
FOREIGN_x86_64 := gcc-i686-linux-gnu libc6-dev-i386-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross
FOREIGN_aarch64 := gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-x86-64-linux-gnu g++-x86-64-linux-gnu libc6-dev-amd64-cross
# What odd programs are made of: allocators, a collector, other languages' run-time systems.
ODD_PACKAGES := musl-tools libclang-rt-dev liburing-dev libgc-dev libjemalloc2 libtcmalloc-minimal4 eatmydata default-jdk-headless golang-go nodejs
# Programs of others that are traced.
SERVER_PACKAGES := nginx apache2-bin apache2-dev apache2-utils postgresql pigz
# Parts of programs that stall.
STALL_PACKAGES := xvfb xdotool python3-tk dbus-daemon python3-dbus python3-gi gunicorn python3-psycopg2 liburing-dev git rsync util-linux \
	libglib2.0-dev libuv1-dev qtbase5-dev pkg-config nodejs g++
# To build and test other projects from Debian's and PyPI's sources.
SOURCE_PACKAGES := dpkg-dev xz-utils perl tcl autoconf automake bison fonts-dejavu-core libhtscodecs-dev libpcap-dev libutfcpp-dev libxml2-dev zlib1g-dev

# Only files whose hash is in requirements/ are installed; `make lock` writes it.
PIP := $(BIN)/pip install --quiet --require-hashes --no-deps

PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

NATIVE := $(shell find native -name '*.[ch]')
# Programs whose tests go by their line numbers are left as they are.
C_SOURCES := $(shell find native src tests -name '*.[ch]' -not -path 'tests/debuginfo/programs/*')

# The HTML report's front end, built into one file; npm comes with a Python package, the same on every system.
PAGE := src/whyperf/report/html/page.html
WEB := $(shell find web -name node_modules -prune -o -type f -print)
NPM := PATH=$(abspath $(BIN)):$$PATH npm --prefix web --silent

.DEFAULT_GOAL := help
BENCHES := $(shell grep -oE '^bench-[a-z-]+' Makefile)
.PHONY: help setup page demo test unit lint bench $(BENCHES) docs pictures wheel deb lock clean

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 22

setup: $(STAMPS)/installed $(STAMPS)/tools $(PAGE) ## system packages, .venv, native build

page: $(PAGE) ## what HTML reports are made of

demo: $(STAMPS)/installed $(PAGE) ## a built-in slow program, recorded and diagnosed
	$(BIN)/whyperf demo

test: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/web-tools $(STAMPS)/test-packages $(STAMPS)/browser $(STAMPS)/sarif-schema $(PAGE) ## all tests but the longest
	$(PYTEST) -m "not long" --no-unexpected-skips

unit: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/sarif-schema $(PAGE) ## the tests that start no programs and take no seconds, in under a minute
	$(PYTEST) -m "not process and not long and not thorough" --no-programs

bench-tests: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/web-tools $(STAMPS)/test-packages $(STAMPS)/browser $(STAMPS)/sarif-schema $(PAGE) ## the longest tests
	$(PYTEST) -m long

lint: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/web-tools ## style, types, layering, C formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(C_SOURCES)
	$(BIN)/lint-imports
	$(NPM) run lint

bench: $(BENCHES) ## all benchmarks; takes hours

bench-speed: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## what recording costs beside other tools, how diagnosis grows, the papers' sizes (as root)
	$(BIN)/python -m bench.speed --write

bench-counts: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## what counting calls costs, beside uftrace and callgrind; counts beside the kernel's (as root)
	$(BIN)/python -m bench.count_cost
	$(BIN)/python -m bench.count_oracle --uprobes -- gzip -c Makefile

bench-bisect: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## which commit is named, beside plain git bisect run; two real projects
	$(BIN)/python -m bench.bisect
	$(BIN)/python -m bench.bisect_real

bench-proof: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## how often an innocent value is called the cause; functions of another build; what observing costs, beside gdb and uprobes (as root)
	$(BIN)/python -m bench.observation_cost
	$(BIN)/python -m bench.observed_programs
	$(BIN)/python -m bench.false_proofs
	$(BIN)/python -m bench.transplants
	$(BIN)/python -m bench.transplants --every

bench-memory: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## who needs more memory in real bugs, beside memray, heaptrack and massif; what --memory costs
	$(BIN)/python -m bench.memory --peers
	$(BIN)/python -m bench.memory --same
	$(BIN)/python -m bench.memory.cost

bench-situations: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## what kind of trouble it is, as root and as an ordinary user, beside perf trace, strace and off-CPU time (as root)
	$(BIN)/python -m bench.situations

bench-origins: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## mistakes that are cheap and elsewhere: the way back to them, and compare --prove
	$(BIN)/python -m bench.origin
	$(BIN)/python -m bench.proven
	$(BIN)/python -m bench.decisions

bench-install: deb ## the wheel and the .deb in an empty Debian 12 without a compiler: size, time, first commands (as root)
	tools/packages.sh debootstrap
	$(BIN)/python -m bench.install dist/whyperf-*-manylinux*.whl
	$(BIN)/python -m bench.install dist/whyperf_*.deb

bench-fleet: $(STAMPS)/installed $(STAMPS)/tools ## many recordings: time and memory, on one machine and on a cluster
	$(BIN)/python -m bench.fleet

bench-false-alarms: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## how often equal behaviour is called different
	$(BIN)/python -m bench.false_alarms

bench-accuracy: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## ranks of known causes beside ten other tools', non-bugs, repetitions
	$(BIN)/python -m bench.accuracy --keep
	$(BIN)/python -m bench.accuracy nonbugs
	$(BIN)/python -m bench.accuracy repeats

bench-sensitivity: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## ranks when thresholds, rates, runs and compilers change
	$(BIN)/python -m bench.sensitivity

bench-transparency: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## do programs behave the same while they are watched
	$(BIN)/python -m bench.transparency

bench-kills: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## what a SIGKILL leaves of a recording
	$(BIN)/python -m bench.kills

bench-soak: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## hours of recording, storms and kills: what is lost and left behind (as root)
	$(BIN)/python -m bench.soak

bench-code-changes: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## which functions of two builds differ
	$(BIN)/python -m bench.code_changes

bench-debuginfo: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## how long debug information takes, cold and warm
	$(BIN)/python -m bench.debuginfo

bench-values: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## false discoveries and power of the tests on values
	$(BIN)/python -m bench.values_statistics recorded
	$(BIN)/python -m bench.values_statistics rates
	$(BIN)/python -m bench.values_statistics redis

bench-contexts: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## inferred latencies against true ones, injected delays, stripped binaries, false alarms (as root)
	$(BIN)/python -m bench.contexts

bench-causes: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## who is blamed for real stalls, beside other methods; false alarms (as root)
	$(BIN)/python -m bench.causes.run
	$(BIN)/python -m bench.causes.false_alarms --runs 4

bench-relations: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## changed relations: ranks, false candidates, cost beside Valgrind's tools
	$(BIN)/python -m bench.relations
	$(BIN)/python -m bench.relations --growth

bench-import: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## how fast perf.data is read, beside perf script
	$(BIN)/python -m bench.import_speed

bench-fuzz: $(STAMPS)/installed $(STAMPS)/tools ## an hour more of mutated recordings, logs and imported files: tracebacks, hangs, memory
	$(BIN)/python -m bench.fuzz --seconds 3600 --sanitized --seed 20 --go-on bench/fuzz/pieces.json

bench-kernel-events: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/bench-packages ## what kernel events cost, beside perf and strace (as root)
	$(BIN)/python -m bench.speed.kernel_events

docs: $(STAMPS)/installed $(STAMPS)/tools ## the site, links checked; man pages; docs/format.md from the schemas
	$(PIP) -r requirements/docs.txt
	$(BIN)/python -m whyperf.recording.describe docs/format.md
	$(BIN)/python -m whyperf.cli.reference docs/commands.md build/man
	$(BIN)/mkdocs build --quiet --strict

pictures: $(STAMPS)/installed $(STAMPS)/tools $(STAMPS)/browser $(PAGE) ## docs/pictures/, from a run of the demo
	$(BIN)/python tools/pictures.py

wheel: $(STAMPS)/installed $(STAMPS)/tools $(PAGE) ## dist/whyperf-*.whl: runs without a compiler and system packages, from Python 3.11 on
	rm -rf build/wheel dist/whyperf-*.whl
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	$(BIN)/python tools/repair_wheel.py build/wheel/whyperf-*.whl dist

deb: wheel ## dist/whyperf_*.deb, for the Python of this system; with man pages and completions for bash, zsh and fish
	$(PIP) -r requirements/docs.txt
	$(BIN)/python -m whyperf.cli.reference docs/commands.md build/man
	$(BIN)/python tools/make_deb.py dist/whyperf-*-manylinux*.whl requirements/deb.txt build/man dist

lock: $(STAMPS)/tools ## requirements/: newest versions that pyproject.toml permits, with the hashes of their files
	for group in run dev page docs deb; do \
		$(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
			--custom-compile-command "make lock" --upgrade --group $$group \
			$$([ $$group = run ] || echo --constraint requirements/run.txt) --output-file requirements/$$group.txt; \
	done

clean: ## everything that make made
	rm -rf $(VENV) build dist web/node_modules $(PAGE) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(STAMPS)/packages: Makefile tools/packages.sh
	@case $(MACHINE) in x86_64|aarch64) ;; *) echo "whyperf runs on Linux on x86-64 and 64-bit ARM; this machine is $(MACHINE)." >&2; exit 1;; esac
	@tools/packages.sh $(PACKAGES)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/test-packages: Makefile tools/packages.sh
	@tools/packages.sh $(TEST_PACKAGES)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/bench-packages: Makefile tools/packages.sh
	@tools/packages.sh $(BENCH_PACKAGES)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/venv: | $(STAMPS)/packages
	$(PYTHON) -m venv $(VENV)
	@mkdir -p $(@D) && touch $@

# What whyperf runs on, and what builds it, so that the editable build needs no isolated environment of its own.
$(STAMPS)/run-requirements: requirements/run.txt | $(STAMPS)/venv
	$(PIP) -r $<
	@touch $@

$(STAMPS)/installed: CMakeLists.txt pyproject.toml $(NATIVE) $(STAMPS)/run-requirements
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(PAGE): $(WEB) | $(STAMPS)/node
	$(NPM) run build

$(STAMPS)/node: web/package-lock.json requirements/page.txt | $(STAMPS)/venv
	$(PIP) -r requirements/page.txt
	$(NPM) ci --omit=dev --ignore-scripts
	@touch $@

$(STAMPS)/web-tools: web/package-lock.json | $(STAMPS)/node
	$(NPM) ci --ignore-scripts
	@touch $@

# Where the system has no Chromium of its own, Playwright's.
$(STAMPS)/browser: | $(STAMPS)/tools $(STAMPS)/test-packages
	command -v chromium >/dev/null || $(BIN)/playwright install --with-deps chromium
	@touch $@

# SARIF's own schema, which no Python package has.
$(STAMPS)/sarif-schema: | $(STAMPS)/node
	cd $(VENV) && PATH=$(abspath $(BIN)):$$PATH npm pack --silent @microsoft/jest-sarif@1.0.0-beta.0 >/dev/null
	cd $(VENV) && echo "748e2c3d1a842e7bb258416685c7ea3a0da40005b72267b2052c2856d48ad102 microsoft-jest-sarif-1.0.0-beta.0.tgz" | sha256sum --check --quiet
	tar -xOf $(VENV)/microsoft-jest-sarif-1.0.0-beta.0.tgz package/lib/schemas/sarif-2.1.0-rtm.5.json > $(VENV)/sarif-2.1.0.json
	@touch $@

$(STAMPS)/tools: requirements/dev.txt $(STAMPS)/run-requirements
	$(PIP) -r $<
	@touch $@
