#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kernel.sh NAME VERB - kernels that find what the stock one does not.
#
#   uml        User-Mode Linux with every checker it has, for the KUnit suite
#   debug      memory, locks, lives of objects, leaks; failures to order; counts how
#              often each line of a module runs
#   kcsan      races on data
#   strict     grace periods as short as they can be, and poison in all memory that is free
#   kmsan      memory that is used, or copied to user space, before it is written
#   arm64      another processor, with pages of 64 KiB
#
#   image             print the path of the kernel
#   build             print what a module is built against (make -C)
#   module DIRECTORY  build the module in there
#
# They are built from the distribution's source with NAME.config (and guest.config but
# for uml, and x86.config but for arm64), kept by cache.sh, and built anew when the source, the compiler, a line of a
# .config or a function here that makes them has changed. That takes two to four minutes;
# with a warm ccache, half a minute.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../cache.sh" kernel)
source=linux-source-6.1
compiler=gcc-12
hostcompiler=gcc-12
jobs=2
job='' key='' log='' cross='' package=''

say() {
	echo "kernel.sh: $1" >&2
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

# recipe - the text of the functions that decide what this kernel becomes.
recipe() {
	set -- kernel_make unpack configure keep
	[ "$name" != uml ] || set -- "$@" edit mend
	for function; do
		sed -n "/^$function() {/,/^}/p" "$here/kernel.sh"
	done | if [ "$cross" ]; then cat; else grep -v '{cross:+'; fi
}

# What the kernel depends on. Another version of any of these is another kernel. Comments and
# the order of lines are left out, and so is what is here for other kernels: a new one must
# not have all others built again.
fingerprint() {
	{
		grep '^CONFIG_' "$config" | LC_ALL=C sort
		printf '%s\n' "$arch" "$image" "$targets" "$kept"
		recipe
		dpkg-query -W "$source" "$package" "$hostcompiler"
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
		make -C "$directory" -j "$jobs" ARCH="$arch" SUBARCH=x86_64 \
		${cross:+CROSS_COMPILE="$cross"} \
		HOSTCC="$hostcompiler" CC="ccache $compiler" "$@"
}

# The sources of large parts that this kernel has none of are left out: that
# spares the disk a gigabyte. Their Kconfig files have to be there.
unpack() {
	xz -dc -T "$jobs" "/usr/src/$source.tar.xz" |
		tar -x -C "$work/source" --strip-components=1 \
			--exclude='drivers/gpu/*.[ch]' \
			--exclude='drivers/net/*/*.[ch]' \
			--exclude='sound/*.[ch]' --exclude='arch/*/dts'
	[ "$name" = uml ] || return 0
	mend
}

# edit FILE SCRIPT - and notice if there was nothing to be edited.
edit() {
	sed "$2" "$work/source/$1" >"$work/edited"
	! cmp -s "$work/source/$1" "$work/edited" || fail "$source has changed: $1: $2"
	mv "$work/edited" "$work/source/$1"
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
	(kernel_make . KCONFIG_ALLCONFIG="$config" allnoconfig) \
		>>"$log" 2>&1 || broken "configuring"
	lost=$(grep '^CONFIG_' "$config" | grep -vxFf .config) ||
		return 0
	fail "lines of the configuration of $name that did not make it:
$lost"
}

# shellcheck disable=SC2317 # called by the trap
stop() {
	[ -z "$job" ] || kill "$job" 2>/dev/null || true
}

# compile - in the background, so that a signal is heard, and there can be
# something to look at.
compile() {
	# shellcheck disable=SC2086 # targets, split on purpose
	kernel_make . $targets >>"$log" 2>&1 &
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
	# shellcheck disable=SC2086 # files, split on purpose
	find Makefile .config Module.symvers include scripts arch/x86/Makefile* \
		arch/x86/include $kept \
		-name dt-bindings -prune -o -type f ! -name '*.[aco]' \
		! -name '*.cmd' -print0 |
		tar -c --null -T - | tar -x -C "$work/kept"
	ln -f "$work/kept/$image" "$work/kept/image"
}

# Another clone may use a kernel of another fingerprint: one that nobody has asked for in
# a month goes.
clear_out() {
	rm -rf "$work"
	find "$cache" -mindepth 1 -maxdepth 1 -type d \
		-name "$name-*" -mtime +30 -exec rm -rf {} +
}

# build - get the kernel into the cache. It gets its name there by a rename, so
# nobody ever sees half of one.
build() {
	say "building the kernel $name (once; takes some minutes)"
	work=$cache/work-$name
	rm -rf "$work"
	mkdir -p "$work/source" "$work/kept"
	: >"$log"
	unpack 2>>"$log" || broken "unpacking"
	cd "$work/source"
	configure
	compile
	keep
	cd "$cache"
	mv "$work/kept" "$cache/$key"
	clear_out
}

provide() {
	"$here/../need.sh" "$source" "$package" "$hostcompiler" libc6-dev make bison flex bc \
		libelf-dev xz-utils ccache || exit 1
	key=$name-$(fingerprint)
	[ -e "$cache/$key/image" ] || build
	touch "$cache/$key"
}

# module DIRECTORY - UBSAN, KCOV and gcov would leave modules alone if not told otherwise.
module() {
	kernel_make "$cache/$key" -s M="$1" UBSAN_SANITIZE=y KCOV_INSTRUMENT=y \
		GCOV_PROFILE=y modules >&2
}

usage() {
	fail "usage: kernel.sh NAME image|build|module DIRECTORY"
}

case ${2-}$# in
image2 | build2) ;;
module3) directory=$(cd "$3" && pwd) ;;
*) usage ;;
esac

name=$1
case $name in
uml)
	arch=um
	image=linux
	targets=''
	kept='linux arch/um/Makefile* arch/um/include arch/x86/um'
	set -- "$2" "$here/uml.config"
	;;
debug | kcsan | strict | kmsan)
	arch=x86
	# Not vmlinux: where it is entered by an emulator nothing is ready for checkers.
	image=arch/x86/boot/bzImage
	targets='bzImage modules'
	kept="$image tools/objtool/objtool"
	# The only compiler that puts in what KMSAN needs.
	[ "$name" != kmsan ] || compiler=clang-14
	set -- "$2" "$here/guest.config" "$here/x86.config" "$here/$name.config"
	;;
arm64)
	arch=arm64
	image=arch/arm64/boot/Image
	targets='Image modules'
	kept="$image arch/arm64/Makefile arch/arm64/include"
	# That of cross/kernel.sh, with the binutils that it has installed.
	compiler=$("$here/../cross/kernel.sh" arm64 compiler)
	package=binutils-aarch64-linux-gnu cross=aarch64-linux-gnu-
	set -- "$2" "$here/guest.config" "$here/arm64.config"
	;;
*) usage ;;
esac

package=${package:-$compiler}
log=$cache/$name.log
config=$(mktemp)
trap 'stop; rm -f "$config"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
verb=$1
shift
cat "$@" >"$config"
# One at a time. The lock is not for what is started here: a daemon left over
# would hold it.
exec 9>"$cache/$name.lock"
flock 9
provide 9>&-
exec 9>&-

case $verb in
image) echo "$cache/$key/image" ;;
build) echo "$cache/$key" ;;
module) module "$directory" ;;
esac
