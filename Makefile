# SPDX-License-Identifier: GPL-2.0-only
#
# hashbelt: what people call. Kbuild is what the kernel's build reads.

# The one place of the version is hashbelt_version.h.
VERSION := $(shell sed -n 's/^.define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' hashbelt_version.h)
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
O := $(CURDIR)/.cache/build

# A web server's log, plain or gzipped, to count sessions in as one more test.
ACCESS_LOG ?=

# How long to soak, seconds.
SOAK ?= 3600
export VERSION ACCESS_LOG SOAK

.PHONY: all module tools run shell quick test test-all test-bare test-models test-kernels test-mutants soak check bench bench-plot bench-profile bench-memory bench-kernel bench-expiry bench-resize bench-cache simulate load unload install install-tools \
	install-dkms uninstall deb clean help

all: module tools ## module for the running kernel, and the tools

module:
	tests/module.sh $(KDIR) $(O)/module-$(KVER)

tools:
	$(MAKE) -C tools O=$(O)/tools VERSION=$(VERSION)

run: ## boot a machine of its own, load the module, show what a belt does; or EXAMPLE=NAME
ifeq ($(EXAMPLE),)
	$(MAKE) -C tests payload
	tests/tour.sh
else
	tests/example.sh $(EXAMPLE)
endif

shell: ## the same machine, with a prompt
	$(MAKE) -C tests payload
	tests/vm/run.sh --interactive $(O)/payload insmod hashbelt.ko

quick: ## what shows most mistakes, within two minutes of an edit
	tests/run.sh --quick

test: ## all that a change has to pass, each on a machine of its own
	tests/run.sh

test-all: ## everything, at full size and with random seeds: hours
	SEED=random tests/run.sh --all

test-bare: ## run, check and test in a fresh Debian 12 with nothing installed and no cache
	tests/bare.sh

test-models: ## what races, in docs/races.md, checked by spin and herd7
	tests/run.sh models

test-kernels: ## every ioctl, on 6.1 and on the kernels of Debian stable and unstable
	tests/run.sh build device kernels

test-mutants: ## bugs that are planted in a copy, and must be found
	tests/mutants.sh

soak: ## histories against the model for SOAK seconds, then random input and calls for as long each
	SEED=$${SEED:-random} tests/run.sh soak

bench: ## what each operation costs, beside BPF maps, keyrings, memcached, Redis, and a naive module
	tests/bench/run.sh

bench-plot: ## pictures and tables of docs/performance.md, measured anew; or of SCENARIOS="..."
	tests/bench/plot.sh $(SCENARIOS)

bench-profile: ## instructions of each function in a call of OPERATION (get hit)
	$(MAKE) -s -C tests payload
	tests/bench/profile.sh "$(or $(OPERATION),get hit)"

bench-memory: ## how long batches wait for memory, beside the module of each of COMMITS="..."
	tests/bench/memory.sh $(COMMITS)

bench-kernel: ## what an operation costs in the kernel, beside an rhashtable with timers
	$(MAKE) -C tests module
	tests/bench/kernel.sh --cpus 1
	tests/bench/kernel.sh --count-instructions

bench-expiry: ## how long ENTRIES (1000000) that expire at once take, on PROCESSORS (2)
	$(MAKE) -C tests payload
	tests/bench/expiry.sh $(or $(ENTRIES),1000000) --cpus $(or $(PROCESSORS),2)

bench-resize: ## what growing the index costs beside ENTRIES (1000000) that expire, in instructions
	$(MAKE) -C tests payload
	tests/bench/expiry.sh --resize $(or $(ENTRIES),1000000) --count-instructions

bench-cache: ## misses, memory and cost beside memcached and Redis; or of TRACE=FILE, of WORKLOADS="..."
	tests/bench/peers/run.sh $(WORKLOADS)

simulate: ## miss ratios of orders of eviction, by simulation; or of TRACE=FILE
	$(MAKE) -s -C tests simulate
	$(O)/native/simulate $(if $(TRACE),--trace $(TRACE))

check: ## style and static analysis; silent if all is well
	tests/check.sh

load: module ## load the module into the running kernel
	insmod $(O)/module-$(KVER)/hashbelt.ko

unload: ## and take it out again
	rmmod hashbelt

install: tools ## module (DKMS where present), and all of install-tools; DESTDIR= for another root
	tools/install_module.sh install $(VERSION) $(KVER) "$(DESTDIR)"
	$(MAKE) -C tools O=$(O)/tools VERSION=$(VERSION) install

install-tools: tools ## programs, library, headers, manual, completion, udev rule
	$(MAKE) -C tools O=$(O)/tools VERSION=$(VERSION) install

install-dkms: ## sources of the module for DKMS; without DESTDIR, DKMS builds and installs it
	tools/install_module.sh dkms $(VERSION) $(KVER) "$(DESTDIR)"

uninstall: ## remove what these three put, with the same variables (DESTDIR, PREFIX, KVER)
	tools/install_module.sh uninstall $(VERSION) $(KVER) "$(DESTDIR)"
	$(MAKE) -C tools O=$(O)/tools VERSION=$(VERSION) uninstall

deb: ## Debian packages, in .cache/build/deb: hashbelt-dkms, hbctl, hbctl-store, the library
	tools/make_deb.sh $(O)/deb

clean: ## what was built; downloads and the kernel for KUnit stay
	rm -rf $(O)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
