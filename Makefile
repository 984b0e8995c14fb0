# SPDX-License-Identifier: GPL-2.0-only
#
# hashbelt: what people call. Kbuild is what the kernel's build reads.

# The one place of the version is hashbelt_version.h.
VERSION := $(shell sed -n 's/^.define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' hashbelt_version.h)
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
# Relative, so that the path of the source tree may have any character but the end of a line.
O := .cache/build

# A web server's log, plain or gzipped, to count sessions in as one more test.
ACCESS_LOG ?=

# Where "make in-tree" leaves its patches.
PATCHES ?= $(O)/patches

# How long to soak, seconds.
SOAK ?= 3600
export VERSION ACCESS_LOG SOAK

# The kernel's build takes these for its own, if they come from the environment or from this make.
unexport CDPATH KBUILD_OUTPUT KBUILD_EXTMOD_OUTPUT
MAKEOVERRIDES := $(filter-out O=% VERSION=% KBUILD_OUTPUT=%,$(MAKEOVERRIDES))

define newline


endef
$(if $(findstring $(newline),$(CURDIR)),$(error the path of the source tree has the end of a line: \
	move the tree))
$(if $(strip $(O)),,$(error O= names no directory))

# One word for a shell.
quote = '$(subst ','\'',$(1))'
module := $(call quote,$(O)/module-$(KVER))
# A rule has "+" before it, as make itself gives one that shows $(MAKE).
make_tools = $(MAKE) -f tools/Makefile O=$(O)/tools VERSION=$(VERSION)
# Where DKMS is present, it builds the module that is installed.
dkms := $(if $(DESTDIR),,$(shell command -v dkms 2>/dev/null))
# The kernel's build cannot take each path of the source tree, and says so in its own words, or not.
place := $(if $(filter all module load $(if $(dkms),,install),$(or $(MAKECMDGOALS),all)),"$$PWD"/)
# With "+" a script gets the jobs of "make -j". "make -n" must not run it.
share_jobs := $(if $(findstring n,$(firstword -$(MAKEFLAGS))),,+)

.PHONY: all place module tools run shell quick test test-deep test-all test-models test-kernels test-mutants findings soak check bench bench-plot bench-profile bench-kernel bench-expiry bench-cache load unload install install-tools \
	install-dkms uninstall deb in-tree clean help

all: module tools ## module for the running kernel, and the tools

# Before anything is written.
place:
	@tests/build_path.sh $(if $(filter /%,$(O)),,$(place))$(call quote,$(O))

module: | place
	$(share_jobs)tests/module.sh $(call quote,$(KDIR)) $(module)

tools: | place
	+$(make_tools)

run: ## boot a machine of its own, load the module, show what a belt does; or EXAMPLE=NAME
ifeq ($(EXAMPLE),)
	$(MAKE) -C tests payload
	tests/tour.sh
else
	tests/example.sh $(EXAMPLE)
endif

shell: ## a machine with the module, a prompt, and what docs/tutorial.md needs
	$(share_jobs)@tests/shell.sh

quick: ## what shows most mistakes, within two minutes of an edit
	tests/run.sh --quick

test: ## what tells whether a change is right, in ten minutes; or ONLY="SUITE... PROGRAM..."
	tests/run.sh --test

test-deep: ## all that has to pass before a release: hours
	tests/run.sh --deep

test-all: ## that, and what takes many hours, with random seeds
	tests/run.sh --all

test-models: ## what races, in docs/races.md, checked by spin and herd7
	tests/run.sh models

test-kernels: ## device, hbctl, life and memory in short, on the kernels of four other releases of Debian
	tests/run.sh oldest-kernels stable-kernels unstable-kernels newest-kernels

findings: ## whether the software of others still behaves as findings/ says
	tests/findings.sh

test-mutants: ## mistakes that are planted in a copy, and must be found
	tests/mutation/run.sh --cases

soak: ## histories against the model for SOAK seconds, then random input and calls for as long each
	SEED=$${SEED:-random} tests/run.sh soak

bench: ## what each operation costs, beside BPF maps, keyrings, LMDB, memcached and Redis; or SCENARIOS="serve python native"; SERVERS=sid: newest servers
	tests/bench/run.sh $(SCENARIOS)

bench-plot: ## pictures and tables of docs/performance.md, measured anew; or of SCENARIOS="..."
	tests/bench/plot.sh $(SCENARIOS)

bench-profile: ## instructions of each function in a call of OPERATION (get hit)
	$(MAKE) -s -C tests payload
	tests/bench/profile.sh "$(or $(OPERATION),get hit)"

bench-kernel: ## what an operation costs in the kernel, beside an rhashtable with timers
	$(MAKE) -C tests module
	tests/bench/kernel.sh --cpus 1
	tests/bench/kernel.sh --count-instructions

bench-expiry: ## how long ENTRIES (1000000) that expire at once take, on PROCESSORS (2)
	$(MAKE) -C tests payload
	tests/bench/expiry.sh $(or $(ENTRIES),1000000) --cpus $(or $(PROCESSORS),2)

bench-cache: ## misses and memory beside memcached and Redis; SERVERS=sid: unstable's; WORKLOADS="..."
	SERVERS="$(SERVERS)" tests/bench/misses.sh $(WORKLOADS)

check: ## style and static analysis; silent if all is well
	tests/check.sh

load: module ## load the module into the running kernel
	insmod $(module)/hashbelt.ko

unload: ## remove the module from the running kernel, with all belts
	rmmod hashbelt

installing = tools/install_module.sh $(1) $(VERSION) $(call quote,$(KVER)) $(call quote,$(DESTDIR))

install: tools $(if $(dkms),,module) ## module (DKMS where present), and all of install-tools; DESTDIR= for another root
	$(share_jobs)$(if $(dkms),$(call installing,dkms),$(call installing,plain) $(call quote,$(KDIR)) $(module))
	+$(make_tools) install

install-tools: tools ## programs, library, headers, manual, completion, udev rule
	+$(make_tools) install

install-dkms: ## sources of the module for DKMS; without DESTDIR, DKMS builds and installs it
	$(call installing,dkms)

uninstall: ## remove what these three put, with the same variables (DESTDIR, PREFIX, KVER)
	$(call installing,uninstall)
	+$(make_tools) uninstall

deb: | place ## Debian packages, in .cache/build/deb; docs/packages.md says what each has
	tools/make_deb.sh $(call quote,$(O)/deb)

in-tree: | place ## drivers/misc/hashbelt in the source of a kernel, KERNEL=DIRECTORY, by patches, which stay in .cache/build/patches
	tools/in_tree.sh $(call quote,$(KERNEL)) $(call quote,$(PATCHES))

# Another directory may have files of its user.
clean: ## what was built; downloads and the kernel for KUnit stay
	rm -rf $(if $(filter .cache/build,$(O)),$(O),$(addprefix $(call quote,$(O))/,tools module-* deb))

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
