#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# uml.sh VERB - the User-Mode Linux kernel that the KUnit suite runs in.
#
#   image             print the path of the kernel, a program to be executed
#   build             print what a module is built against (make -C, ARCH=um)
#   module DIRECTORY  build the module in there
#
# It is built from the distribution's source with uml.config, kept in
# .cache/uml, and built anew when the source, the compiler, uml.config or this
# script has changed. That takes two or three minutes; with a warm ccache, half
# a minute.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../../.cache/uml
source=linux-source-6.1
compiler=gcc-12
jobs=2
job='' key='' log=''

say() {
	echo "uml.sh: $1" >&2
}

fail() {
	say "$1"
	exit 1
}

# broken STEP - show why.
broken() {
	tail -n 30 "$log" >&2
	fail "$1 failed; all of its output is in $log"
}

# What the kernel depends on. Another version of any of these is another kernel.
fingerprint() {
	{
		cat "$here/uml.config" "$here/uml.sh"
		dpkg-query -W "$source" "$compiler"
	} | sha256sum | cut -c 1-16
}

# kernel_make DIRECTORY ARGUMENT... - with nothing of the caller's environment:
# ARCH, CFLAGS, MAKEFLAGS and their like would change what is built. Ends the
# shell it is called in: there must be nothing between us and make to which a
# signal goes instead.
kernel_make() {
	directory=$1
	shift
	exec env -i PATH="$PATH" HOME="${HOME:-/}" LC_ALL=C \
		CCACHE_DIR="${CCACHE_DIR:-$cache/ccache}" \
		KBUILD_BUILD_USER=hashbelt KBUILD_BUILD_HOST=hashbelt \
		KBUILD_BUILD_TIMESTAMP=1970-01-01 \
		make -C "$directory" -j "$jobs" ARCH=um SUBARCH=x86_64 \
		HOSTCC="$compiler" CC="$wrapper$compiler" "$@"
}

# The sources of large parts that this kernel has none of are left out: that
# spares the disk a gigabyte. Their Kconfig files have to be there.
unpack() {
	xz -dc -T "$jobs" "/usr/src/$source.tar.xz" |
		tar -x -C "$work/source" --strip-components=1 \
			--exclude='drivers/gpu/*.[ch]' \
			--exclude='drivers/net/*.[ch]' \
			--exclude='sound/*.[ch]' --exclude='arch/*/dts'
}

# edit FILE SCRIPT - and notice if there was nothing to be edited.
edit() {
	sed "$2" "$1" >"$1.new"
	! cmp -s "$1" "$1.new" || fail "$source has changed: $1: $2"
	mv "$1.new" "$1"
}

mend() {
	# The room for a process's registers. 6.1 made it for AVX-512; with AMX
	# there are 11 KiB, and processes would die as they start.
	edit arch/x86/um/user-offsets.c \
		's/\(HOST_FP_SIZE\), 2696/\1, 16384/'
	# A guest's processes are processes of the host. Should the guest be
	# killed, they must not run on with the host's system calls.
	edit arch/um/os-Linux/skas/process.c \
		's/PTRACE_O_TRACESYSGOOD/(& | PTRACE_O_EXITKILL)/'
}

# A line that cannot be had (renamed, or something it needs is missing) is
# dropped by kconfig without a word.
configure() {
	(kernel_make . KCONFIG_ALLCONFIG="$here/uml.config" allnoconfig) \
		>>"$log" 2>&1 || broken "configuring"
	lost=$(grep '^CONFIG_' "$here/uml.config" | grep -vxFf .config) ||
		return 0
	fail "lines of uml.config that did not make it:
$lost"
}

# shellcheck disable=SC2317 # called by the trap
stop() {
	[ -z "$job" ] || kill "$job" 2>/dev/null || true
}

# compile - in the background, so that a signal is heard, and there can be
# something to look at.
compile() {
	kernel_make . >>"$log" 2>&1 &
	job=$!
	while [ -t 2 ] && kill -0 "$job" 2>/dev/null; do
		printf '\r%s files compiled ' \
			"$(grep -c '^  CC ' "$log")" >&2
		sleep 1
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
	wait "$job" || broken "compiling"
	job=
}

# What a module is built with, and the kernel itself: a small part of it all.
keep() {
	find Makefile .config Module.symvers linux include scripts \
		arch/um/Makefile* arch/um/include \
		arch/x86/Makefile* arch/x86/include arch/x86/um \
		-name dt-bindings -prune -o -type f ! -name '*.[aco]' \
		! -name '*.cmd' -print0 |
		tar -c --null -T - | tar -x -C "$work/kept"
}

# Kernels of other fingerprints are of no use any more.
clear_out() {
	rm -rf "$work"
	find "$cache" -mindepth 1 -maxdepth 1 -type d \
		! -name ccache ! -name "$key" -exec rm -rf {} +
}

# build - get the kernel into the cache. It gets its name there by a rename, so
# nobody ever sees half of one.
build() {
	say "building a User-Mode Linux kernel (once; takes some minutes)"
	work=$cache/work
	rm -rf "$work"
	mkdir -p "$work/source" "$work/kept"
	: >"$log"
	unpack 2>>"$log" || broken "unpacking"
	cd "$work/source"
	mend
	configure
	compile
	keep
	cd "$cache"
	mv "$work/kept" "$cache/$key"
	clear_out
}

provide() {
	"$here/../need.sh" "$source" "$compiler" libc6-dev make bison flex bc \
		xz-utils || exit 1
	key=$(fingerprint)
	[ ! -x "$cache/$key/linux" ] || return 0
	build
}

# module DIRECTORY - UBSAN would leave modules alone if not told otherwise.
module() {
	kernel_make "$cache/$key" -s M="$1" UBSAN_SANITIZE=y modules >&2
}

case ${1-}$# in
image1 | build1) ;;
module2) directory=$(cd "$2" && pwd) ;;
*) fail "usage: uml.sh image|build|module DIRECTORY" ;;
esac

mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
log=$cache/log
wrapper=$(! command -v ccache >/dev/null || echo 'ccache ')
trap stop EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
# One at a time. The lock is not for what is started here: a daemon left over
# would hold it.
exec 9>"$cache/lock"
flock 9
provide 9>&-
exec 9>&-

case $1 in
image) echo "$cache/$key/linux" ;;
build) echo "$cache/$key" ;;
module) module "$directory" ;;
esac
