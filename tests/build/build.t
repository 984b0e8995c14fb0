#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# build.t - what is built for others than this machine: programs of 32 bits, of other
# processors and the other byte order, of C++ and of older C; and what sparse thinks of
# the module; that something compiles without a word is the proof. And what make install
# puts where. Runs where the sources are.
# shellcheck disable=SC2317 # what is checked is called by silent
set -u

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

# silent NAME COMMAND... - the command succeeds and prints nothing.
silent() {
	name=$1
	shift
	result "$name" "$("$@" 2>&1 || echo "status $?")"
}

# language COMPILER STANDARD SUFFIX HEADER... - the headers, twice and on their own, and
# every name of the interface that has a value. Pedantic: a program that includes them
# may be.
language() {
	compiler=$1 standard=$2 unit=$temporary/header.$3
	shift 3
	{
		for header; do
			echo "#include \"$header\""
			echo "#include \"$header\""
		done
		echo "unsigned long long sum(void);"
		echo "unsigned long long sum(void) { return 0"
		sed -n '/"/d; s/^#define \(HASHBELT_[A-Z0-9_]*\)[[:space:]].*/+ \1/p' \
			"$top/hashbelt.h"
		echo "; }"
	} >"$unit"
	names=$(grep -c '^+' "$unit")
	[ "$names" -gt 50 ] || echo "only $names names found"
	"$compiler" -std="$standard" -Wall -Wextra -Wpedantic -Werror -I"$top" \
		-I"$top/tools" -O2 -c -o "$temporary/header.o" "$unit"
}

# compile COMPILER... - to objects, in the way of tools/Makefile.
compile() {
	(cd "$temporary" && "$@" -std=gnu11 -O2 -Wall -Wextra -Wshadow -Wstrict-prototypes \
		-Werror -D__SANE_USERSPACE_TYPES__ -DVERSION='"0"' \
		-I"$top" -I"$top/tools" -c)
}

# layout COMPILER... - tests/device/layout.c holds what has been promised.
layout() {
	compile "$@" "$tests/device/layout.c"
}

library() {
	compile "$@" -D_GNU_SOURCE "$top"/tools/client*.c
}

# program COMPILER... - all of hbctl but what needs a PostgreSQL. Its libraries are not
# there for 32 bits, so it is not linked.
program() {
	for source in "$top"/tools/*.c; do
		[ "${source##*/}" = lock_store.c ] || set -- "$@" "$source"
	done
	compile "$@" -D_GNU_SOURCE
}

# In a new place: what is there already would be built, and complained about, no more.
module() {
	"$tests/module.sh" "$("$tests/vm/kernel.sh" headers)" "$temporary/module" \
		W=1 C=2 CF=-D__CHECK_ENDIAN__
}

# cross_module PROCESSOR - the module for Debian's kernel of that processor.
cross_module() {
	"$tests/cross/kernel.sh" "$1" module "$temporary/module-$1" W=1
}

# install_tools OPTION... - what make install puts where, in a place of its own.
install_tools() {
	rm -rf "$temporary/root"
	make -s -C "$top/tools" O="$temporary/tools" DESTDIR="$temporary/root" "$@" install &&
		(cd "$temporary/root" && find . -type f | LC_ALL=C sort)
}

# What does not look like a line of udev's.
rules() {
	word='[A-Z]+(\{[^}]+\})?(==|!=|=|\+=|-=|:=)"[^"]*"'
	grep -nEv "^#|^\$|^$word(, $word)*\$" "$top/tools/60-hashbelt.rules" || true
}

# cross PROCESSOR CHECK - clang compiles for all processors. (The packages of the other gcc
# conflict with gcc-multilib, which the tests need; cross/kernel.sh unpacks them apart.)
cross() {
	"$2" clang --target="$1-linux-gnu" -isystem "/usr/$1-linux-gnu/include"
}

"$tests/need.sh" gcc g++ gcc-multilib libc6-dev clang sparse libjson-c-dev libncurses-dev \
	libc6-dev-arm64-cross libc6-dev-s390x-cross || exit
# Installing and fetching come first: the checks that follow must print nothing.
for processor in arm64 s390x; do
	"$tests/cross/kernel.sh" "$processor" release >/dev/null || exit
done

plan 18
silent "the headers are C99" language gcc c99 c hashbelt.h client.h
silent "the headers are C11" language gcc c11 c hashbelt.h client.h
silent "the headers are C17" language gcc c17 c hashbelt.h client.h
silent "the interface is C++11 as well" language g++ c++11 cc hashbelt.h
silent "the interface is C++20" language g++ c++20 cc hashbelt.h
silent "the layout is the same for 32 bits" layout gcc -m32
silent "the library builds for 32 bits" library gcc -m32
silent "hbctl builds for 32 bits" program gcc -m32
silent "the layout is the same on arm64" cross aarch64 layout
silent "the library builds for arm64" cross aarch64 library
silent "the layout is the same on s390x, with the other byte order" cross s390x layout
silent "the library builds for that" cross s390x library
silent "the module builds for the stock kernel with all warnings on, and sparse's" module
silent "the module builds for arm64 without a warning" cross_module arm64
silent "the module builds for s390x without a warning" cross_module s390x
is "make install puts all in its place" 0 './usr/lib/udev/rules.d/60-hashbelt.rules
./usr/local/bin/hbctl
./usr/local/include/hashbelt/client.h
./usr/local/include/hashbelt/hashbelt.h
./usr/local/lib/libhashbelt.a
./usr/local/share/bash-completion/completions/hbctl
./usr/local/share/man/man1/hbctl.1' '' install_tools
is "make install puts all where PREFIX and RULES say" 0 './opt/bin/hbctl
./opt/include/hashbelt/client.h
./opt/include/hashbelt/hashbelt.h
./opt/lib/libhashbelt.a
./opt/share/bash-completion/completions/hbctl
./opt/share/man/man1/hbctl.1
./rules/60-hashbelt.rules' '' install_tools PREFIX=/opt RULES=/rules
silent "udev's rule has the form of one" rules
finish
