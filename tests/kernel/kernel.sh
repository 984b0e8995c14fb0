#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh NAME VERB - build kernels with checkers that the stock kernel does not have.
#
#   uml        User-Mode Linux with every checker it has, for the KUnit suite
#   debug      checks memory, locks, lifetimes of objects, leaks; injects failures; counts
#              how often each line of the module runs
#   kcsan      finds data races
#   strict     has grace periods as short as they can be, and poisons all free memory
#   kmsan      finds memory that is used, or copied to user space, before it is written
#   clang      built by clang and its linker, with warnings as errors
#   builtin    has hashbelt built in, by "make in-tree", with warnings as errors
#   arm64      for arm64, with pages of 64 KiB
#
#   image             print the path of the kernel
#   build             print the directory to build a module against (make -C)
#   module DIRECTORY  build the module in DIRECTORY
#
# The kernels are built from the source and by the compiler of the machine's own Debian release, with
# NAME.config; uml also with plain.config; those that an emulator runs also with guest.config, and
# but for arm64 with x86.config. cache.sh keeps them. A kernel is built again when the source, the
# compiler, a line of a .config or a function here that makes it has changed. That takes two to four
# minutes, with a warm ccache half a minute.
#
# uml is built on Debian 12, 13 and unstable. The configurations of the others are for
# Debian 12: newer kernels lose lines of them, which is an error.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../cache.sh" kernel)
jobs=$(nproc)
job='' key='' log='' work='' config='' cross='' llvm='' package='' um='' driver=''
# Child processes die with this shell, even if it is killed.
bound='setpriv --pdeathsig TERM'

# Lines of a .config that newer kernels write in another way: the first version that does, the line,
# and its replacement.
renamed='7.0 CONFIG_BOOTPARAM_HUNG_TASK_PANIC=y CONFIG_BOOTPARAM_HUNG_TASK_PANIC=1'

say() {
	echo "kernel.sh: $1" >&2
}

fail() {
	say "$1"
	exit 1
}

# broken STEP - print the end of the log, and fail.
broken() {
	tail -n 30 "$log" >&2
	fail "$1 failed; all of its output is in $log"
}

# depends PACKAGE PATTERN - print the name of the package that matches PATTERN, a regular expression,
# and on which the installed package PACKAGE depends.
depends() {
	dpkg-query -W -f '${Depends}' "$1" | tr ',' '\n' |
		sed -n "s/^ *\($2[0-9][0-9.]*\).*/\1/p" | head -n 1
}

# is_since VERSION - true if the kernel is of this version or newer.
is_since() {
	dpkg --compare-versions "${source#linux-source-}" ge "$1"
}

# rename - print the configuration on stdin as this version of the kernel writes it.
rename() {
	script=$(echo "$renamed" | while read -r since line replacement; do
		! is_since "$since" || echo "s/^$line\$/$replacement/"
	done)
	sed "$script"
}

# recipe - print the text of the functions that make this kernel. Lines that other processors,
# compilers or kernels need are left out, and $bound, which changes no kernel.
recipe() {
	set -- kernel_make unpack configure keep
	case $arch in
	um) set -- "$@" edit mend ;;
	*) set -- "$@" edit mend_guest ${driver:+put_driver} ;;
	esac
	for function; do
		sed -n "/^$function() {/,/^}/p" "$here/kernel.sh"
	done | if [ "$cross" ]; then cat; else grep -v '{cross:+'; fi |
		if [ "$llvm" ]; then cat; else grep -v '{llvm:+'; fi |
		if [ "$um" ]; then cat; else grep -v '{um:+'; fi |
		if [ "$driver" ]; then cat; else grep -v '{driver:+'; fi |
		sed "s/\\\$bound //"
}

# configuration - print all lines of the .config files.
configuration() {
	for file in $configs; do
		cat "$here/$file.config"
	done | rename
}

# driver_hash - print a hash of what "make in-tree" puts into a kernel, but for the tests.
driver_hash() {
	(cd "$here/../.." && find Kbuild hashbelt*.[ch] belt device tools/in_tree.sh tools/in-tree -type f |
		LC_ALL=C sort | xargs cat | sha256sum | cut -c 1-16)
}

# ingredients - print all that the kernel depends on. Comments and the order of lines of a .config
# do not count, nor does code for other kernels: a new kernel must not cause the others to be built
# again.
ingredients() {
	configuration | grep '^CONFIG_' | LC_ALL=C sort
	printf '%s\n' "$arch" "$image" "$targets" "$kept"
	recipe
	[ ! "$driver" ] || printf 'hashbelt\t%s\n' "$(driver_hash)"
	dpkg-query -W "$source" "$package" "$hostcompiler"
}

# kernel_make DIRECTORY ARGUMENT... - run make without the caller's environment: ARCH,
# CFLAGS, MAKEFLAGS and others would change the result. It replaces the calling shell, so
# that a signal to that process reaches make. For User-Mode Linux, ccache does not run the
# preprocessor first: that would take an eighth of the time of a first build.
kernel_make() {
	directory=$1
	shift
	exec $bound env -i PATH="$PATH" HOME="${HOME:-/}" LC_ALL=C \
		CCACHE_DIR="${CCACHE_DIR:-$cache/ccache}" \
		${um:+CCACHE_DEPEND=1} \
		KBUILD_BUILD_USER=hashbelt KBUILD_BUILD_HOST=hashbelt \
		KBUILD_BUILD_TIMESTAMP=1970-01-01 \
		make -C "$directory" -j "$jobs" ARCH="$arch" SUBARCH=x86_64 \
		${cross:+CROSS_COMPILE="$cross"} \
		${llvm:+LLVM="$llvm"} \
		HOSTCC="$hostcompiler" CC="ccache $compiler" "$@"
}

# unpack - unpack the source without large parts that this kernel does not have, which saves a
# gigabyte, and for User-Mode Linux another half. Kconfig files are needed all the same. test_fortify
# has no code: compiling it tests the compiler.
unpack() {
	$bound xz -dc -T "$jobs" "/usr/src/$source.tar.xz" |
		$bound tar -x -C "$work/source" --strip-components=1 \
			${um:+--exclude='arch/[a-tv-w]*/*.[chS]' --exclude='arch/xtensa/*.[chS]'} \
			${um:+--exclude='Documentation/*/*' --exclude='tools/[pt]e*'} \
			${um:+--exclude='drivers/[d-lnop-su-z]*/*.[chS]'} \
			${um:+--exclude='drivers/m[a-hj-z]*/*.[chS]' --exclude='drivers/ac*/*.[chS]'} \
			${um:+--exclude='drivers/c[lopr]*/*.[chS]'} \
			${um:+--exclude="$source/net/*/*.[ch]" --exclude='lib/test_fortify/*.c'} \
			--exclude='drivers/gpu/*.[ch]' \
			--exclude='drivers/net/*/*.[ch]' \
			--exclude='sound/*.[ch]' --exclude='arch/*/dts'
	if [ "$arch" = um ]; then mend; else mend_guest; fi
	${driver:+put_driver}
}

# put_driver - put hashbelt into the source. Nobody gets these patches.
put_driver() {
	GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=hashbelt \
		GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=hashbelt@hashbelt.invalid \
		make -s -C "$here/../.." in-tree KERNEL="$work/source" PATCHES="$work/patches" >&2
}

# edit FILE SCRIPT - edit a file of the source; fail if that changes nothing.
edit() {
	sed "$2" "$work/source/$1" >"$work/edited"
	! cmp -s "$work/source/$1" "$work/edited" || fail "$source has changed: $1: $2"
	mv "$work/edited" "$work/source/$1"
}

mend() {
	# The room for a process's registers. Until 6.12 it was for AVX-512; with AMX
	# there are 11 KiB, and processes would die as they start.
	is_since 6.13 || edit arch/x86/um/user-offsets.c \
		's/\(HOST_FP_SIZE\), 2696/\1, 16384/'
	# A guest's processes are processes of the host. Should the guest be
	# killed, they must not run on with the host's system calls.
	edit arch/um/os-Linux/skas/process.c \
		's/PTRACE_O_TRACESYSGOOD/(& | PTRACE_O_EXITKILL)/'
	# make visits 200 directories of drivers that a configuration cannot leave out, and finds
	# nothing to compile there.
	edit drivers/Makefile '/^obj-y/!b; / base\//!d; s:=.*:= tty/ char/ base/:'
}

# mend_guest - for the kernels that an emulator runs. The thread of RCU tasks in 6.1 waits for
# callbacks with a mutex held that its self-test needs, which PROVE_RCU starts at boot: 6 boots of
# 543 hung. It must wait without the mutex, as it does from 6.5 on.
mend_guest() {
	edit kernel/rcu/tasks.h '/set_tasks_gp_state(rtp, RTGS_WAIT_CBS)/i\
		mutex_unlock(\&rtp->tasks_gp_mutex);
/^[[:space:]]*TASK_IDLE);/a\
		mutex_lock(\&rtp->tasks_gp_mutex);'
}

# configure - make the configuration, and check it: kconfig silently drops a line whose option
# was renamed or whose dependencies are missing.
configure() {
	(kernel_make . KCONFIG_ALLCONFIG="$config" allnoconfig) \
		>>"$log" 2>&1 || broken "configuring"
	lost=$(grep '^CONFIG_' "$config" | grep -vxFf .config) ||
		return 0
	fail "lines of the configuration of $name that did not make it:
$lost"
}

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	trap '' HUP INT TERM
	[ -z "$job" ] || {
		kill "$job" 2>/dev/null || true
		wait "$job" 2>/dev/null || true
	}
	# The processes of a job that was killed may still write for a moment.
	[ -z "$work" ] || rm -rf "$work" 2>/dev/null || { sleep 1 && rm -rf "$work"; }
}

# attend COMMAND... - run a command in the background and wait for it: a shell handles a signal only
# after a command in the foreground has ended.
attend() {
	"$@" &
	job=$!
	ended=0
	wait "$job" || ended=$?
	job=
	return "$ended"
}

# compile - run make in the background, so that this shell can handle a signal and print
# progress.
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

# keep - copy the kernel and the files that building a module needs, a small part of the tree. From
# 6.12 on a source is among them.
keep() {
	# shellcheck disable=SC2086 # files, split on purpose
	find Makefile .config Module.symvers include scripts arch/x86/Makefile* \
		arch/x86/include $kept \
		${um:+-name module-common.c -print0 -o} \
		-name dt-bindings -prune -o -type f ! -name '*.[aco]' \
		! -name '*.cmd' -print0 |
		tar -c --null -T - | tar -x -C "$work/kept"
	ln -f "$work/kept/$image" "$work/kept/image"
}

# clear_out - remove kernels that no clone has used for a month: another clone may use a kernel
# with another fingerprint.
clear_out() {
	rm -rf "$work"
	find "$cache" -mindepth 1 -maxdepth 1 -type d \
		-name "$name-*" -mtime +30 -exec rm -rf {} +
}

# build - build the kernel into the cache. A rename makes that atomic.
build() {
	work=$cache/work-$name
	rm -rf "$work"
	mkdir -p "$work/source" "$work/kept"
	ingredients >"$work/kept/ingredients"
	say "building the kernel $name (takes some minutes)"
	config=$work/config
	configuration >"$config"
	: >"$log"
	attend unpack 2>>"$log" || broken "unpacking"
	cd "$work/source"
	attend configure
	compile
	attend keep
	cd "$cache"
	mv "$work/kept" "$cache/$key"
	clear_out
}

provide() {
	"$here/../need.sh" "$source" "$package" "$hostcompiler" libc6-dev make bison flex bc \
		libelf-dev xz-utils ccache || exit 1
	key=$name-$(ingredients | sha256sum | cut -c 1-16)
	[ -e "$cache/$key/image" ] || build
	touch "$cache/$key"
}

# module DIRECTORY - build a module. Out-of-tree modules need these settings for UBSAN, KCOV and
# gcov.
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

"$here/../need.sh" linux-source gcc || exit 1
source=$(depends linux-source linux-source-)
hostcompiler=$(depends gcc gcc-)
[ "${source:+$hostcompiler}" ] ||
	fail "the packages linux-source and gcc are not Debian's: install those of your release"
compiler=$hostcompiler
# From 6.5 on these kernels need no edit.
if is_since 6.5; then
	mend_guest() { :; }
fi

name=$1 verb=$2
case $name in
uml)
	arch=um um=yes
	image=linux
	# Compiling with -O1 takes a quarter less. A module is compiled with -O2 all the same.
	targets='KCFLAGS=-O1'
	kept='linux arch/um/Makefile* arch/um/include arch/x86/um'
	configs='plain uml'
	;;
debug | kcsan | strict | kmsan | clang | builtin)
	arch=x86
	# Not vmlinux: an emulator enters it at a place where the checkers are not set up yet.
	image=arch/x86/boot/bzImage
	targets='bzImage modules'
	kept="$image tools/objtool/objtool"
	# Only clang has the instrumentation for KMSAN.
	[ "$name" != kmsan ] || compiler=clang-14
	[ "$name" != clang ] || {
		compiler=clang-14 llvm=-14
		"$here/../need.sh" lld-14 llvm-14
	}
	[ "$name" != builtin ] || {
		driver=yes
		"$here/../need.sh" git patch
	}
	configs="guest x86 $name"
	;;
arm64)
	arch=arm64
	image=arch/arm64/boot/Image
	targets='Image modules'
	kept="$image arch/arm64/Makefile arch/arm64/include"
	# The compiler of cross/kernel.sh, with the binutils that it installs.
	compiler=$("$here/../cross/kernel.sh" arm64 compiler)
	package=binutils-aarch64-linux-gnu cross=aarch64-linux-gnu-
	configs='guest arm64'
	;;
*) usage ;;
esac

package=${package:-$compiler}
log=$cache/$name.log
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
# One process at a time. Child processes do not inherit the lock: a daemon would keep it.
exec 9>"$cache/$name.lock"
attend flock 9
provide 9>&-
exec 9>&-

case $verb in
image) echo "$cache/$key/image" ;;
build) echo "$cache/$key" ;;
module) module "$directory" ;;
esac
