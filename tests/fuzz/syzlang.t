#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# syzlang.t [--constants] - check that hashbelt.txt describes all of hashbelt.h: each ioctl,
# each structure with its members in their order, each constant. With --constants, print
# hashbelt.txt.const, which syzkaller needs beside it: the values of these constants.
set -eu
unset CDPATH
# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
header=$top/hashbelt.h
text=$here/hashbelt.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# names - print the names of all numeric constants: macros without arguments, enums, and counters.
names() {
	sed -n 's/^#define[ \t]*\(HASHBELT_[A-Z0-9_]*\)[ \t].*/\1/p
		s/^\t\(HASHBELT_[A-Z0-9_]*\)[ \t,=].*/\1/p
		s/^\tX(\(HASHBELT_[A-Z0-9_]*\),.*/\1/p' "$header" |
		grep -vxE 'HASHBELT_(DEVICE|DEFAULT_BELT)' | sort -u
}

# constants - print hashbelt.txt.const. The flags of openat(2) and mmap(2) are in it as well.
constants() {
	cat >"$work/constants.c" <<-'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include "hashbelt.h"
		#define SAY(name) printf("%s = %llu\n", #name, (unsigned long long)(name));
		int main(void)
		{
	END
	for name in $(names) AT_FDCWD O_CLOEXEC O_NONBLOCK O_RDONLY O_RDWR O_WRONLY MAP_FIXED \
		MAP_PRIVATE MAP_SHARED PROT_EXEC PROT_READ PROT_WRITE; do
		echo "SAY($name)"
	done >>"$work/constants.c"
	echo 'return 0; }' >>"$work/constants.c"
	cc -I"$top" -o "$work/constants" "$work/constants.c"
	head -n 1 "$text"
	echo '# From hashbelt.h, by syzlang.t --constants.'
	echo 'arches = amd64'
	"$work/constants"
	echo '__NR_ioctl = 16'
	echo '__NR_mmap = 9'
	echo '__NR_openat = 257'
	echo '__NR_read = 0'
}

# structures FILE - print the structures of the header or of the description, one a line, with
# their members. The members of a union in a structure are names of one: the first stands for all.
structures() {
	awk '
		/^(__extension__ )?struct hashbelt_[a-z_]* \{/ { line = $(NF - 1); next }
		/^(type )?hashbelt_[a-z_]*(\[[A-Z, ]*\])? \{/ {
			line = $1 == "type" ? $2 : $1
			sub(/\[.*/, "", line)
			next
		}
		/^\}/ { if (line) print line; line = "" }
		/^\tunion \{/ { names = 1; next }
		/^\t\};/ { names = 0; next }
		names && names++ > 1 { next }
		line && NF {
			member = FILENAME ~ /\.h$/ ? $NF : $1
			if (FILENAME ~ /\.h$/)
				sub(/(\[.*\])?;$/, "", member)
			line = line " " member
		}
	' "$1" | sort
}

# nothing_missing NUMBER NAME - a test that passes if the file "missing" is empty.
nothing_missing() {
	if [ -s "$work/missing" ]; then
		echo "# $(place "$2"): expected nothing to be missing, found:"
		sed 's/^/# /' "$work/missing"
		echo "not ok $1 - $2"
		failed=1
	else
		echo "ok $1 - $2"
	fi
}

if [ "${1-}" = --constants ]; then
	constants
	exit
fi

failed=0
echo 1..3
for name in $(names | grep '^HASHBELT_IOC_' | grep -v _MAGIC); do
	grep -q "^ioctl\$$name(fd fd_hashbelt, cmd const\[$name\]" "$text" || echo "$name"
done >"$work/missing"
nothing_missing 1 "hashbelt.txt describes each of $(names | grep -c '^HASHBELT_IOC_[^M]') ioctls"

structures "$header" >"$work/header"
structures "$text" >"$work/text"
comm -23 "$work/header" "$work/text" >"$work/missing"
[ "$(wc -l <"$work/header")" -gt 15 ] ||
	echo "hashbelt.h: expected more than 15 structures" >>"$work/missing"
nothing_missing 2 "hashbelt.txt has each of $(wc -l <"$work/header") structures, member by member"

# Constants that are no part of an argument need not be named: counters, the ABI's number.
sed '/^#/d' "$text" >"$work/plain"
for name in $(names | grep -vxE 'HASHBELT_(ABI|IOC_MAGIC|STAT_[A-Z_]*)'); do
	grep -qw "$name" "$work/plain" || echo "$name"
done >"$work/missing"
nothing_missing 3 "hashbelt.txt names each constant of hashbelt.h"

exit $failed
