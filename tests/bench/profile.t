#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# profile.t - profile.sh accounts for the instructions that bench counted. One guest.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

profile=$temporary/profile

# rows TABLE [PATTERN] - print the sum of the rows of the first or the second table that match.
rows() {
	awk -v table="$1" -v pattern="${2-}" '
		/^instructions/ { at++; next }
		at == table && $1 > 0 && $2 != "all" && $0 ~ pattern { sum += $1 }
		END { print sum + 0 }' "$profile"
}

# near NAME VALUE NAME VALUE - print the difference if it is 5 or more.
near() {
	awk -v a="$2" -v b="$4" 'BEGIN { exit a > 0 && b > 0 && (a - b) ^ 2 < 25 }' &&
		echo "$1: $2, and $3: $4"
}

"$tests/bench/profile.sh" "get hit" >"$profile" 2>"$temporary/log"
status=$?
counted=$(sed -n '1s/.*bench counted \([0-9]*\) .*/\1/p' "$profile")
result "profile.sh counts a get that hits" "$(
	[ $status = 0 ] || { echo "expected status 0, found $status:"; tail "$temporary/log"; })"
result "the functions take as many instructions as bench counts, to within 5" \
	"$(near "all functions" "$(rows 1)" "bench" "$counted")"
result "the inlined functions take as many instructions as the functions of the module" \
	"$(near "inlined functions" "$(rows 2)" "functions" "$(rows 1 '[[]hashbelt]$')")"
result "the profile has the entry to the kernel, the ioctl of the module, and the hash of the key" "$(
	for row in '  entry_SYSCALL_64$' '  hashbelt_ioctl  [[]hashbelt]$' '  hb_siphash (hash.h)'; do
		grep -q "$row" "$profile" || echo "no such line: $row"
	done)"
finish
