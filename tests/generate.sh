#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# generate.sh [--write] - compare the parts of files that HASHBELT_COUNTERS of hashbelt.h gives with
# the list: prints the differences. With --write, write these parts anew. They stand between two
# lines that name hashbelt.h:
#
#	docs/hashbelt.4			the constants and their meaning
#	docs/hbctl.1			the names, among the fields of stat --json
#	tests/hbctl/recorded.prom	the families for Prometheus; the samples of a new counter are 0
#
# No counter may get another number or name. So generate.sh refuses a list that does not begin with
# the counters of docs/hashbelt.4, in their order, or in which a name is not that of its constant.
# shellcheck disable=SC2317 # functions that each() calls
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# rows - print the constant, the name and the meaning of each counter, with tabs between them.
rows() {
	cat >"$work/rows.c" <<-'END'
		#include <stdio.h>
		#include "hashbelt.h"
		#define ROW(constant, name, meaning) puts(#constant "\t" name "\t" meaning);
		int main(void) { HASHBELT_COUNTERS(ROW) return 0; }
	END
	cc -I"$top" -o "$work/rows" "$work/rows.c"
	"$work/rows"
}

# constants FILE - print the counters that the manual page documents.
constants() {
	sed -n '/^\.\\" Counters of hashbelt.h/,/^\.\\" End of/s/^\.It Dv //p' "$1"
}

items() {
	awk -F '\t' '{ print ".It Dv " $1; print $3 "." }' "$work/list"
}

# fields - print the names, filled to lines of some 80 columns.
fields() {
	awk -F '\t' '
		line && length(line $2) > 80 { print line; line = "" }
		{ line = (line ? line " " : ".Va ") $2 " ," }
		END { print line }' "$work/list"
}

# families - print the families, with the samples that FILE has.
families() {
	awk -F '\t' '
		FILENAME != list {
			if (/^hashbelt_[a-z_]*_total\{/) {
				family = sample = $0
				sub(/\{.*/, "", family)
				sub(/^[^{]*/, "", sample)
				samples[family] = samples[family] family sample "\n"
				if (!first)
					first = family
			}
			next
		}
		{
			family = "hashbelt_" $2 "_total"
			if (!(family in samples)) {
				samples[family] = samples[first]
				gsub(/\} [0-9]+\n/, "} 0\n", samples[family])
				gsub(first, family, samples[family])
			}
			print "# HELP " family " " $3 "."
			print "# TYPE " family " counter"
			printf "%s", samples[family]
		}' list="$work/list" "$1" "$work/list"
}

# replace FILE COMMAND... - print the file with the output of the command in the place of its part.
replace() {
	file=$1
	shift
	"$@" "$file" >"$work/part"
	awk -v part="$work/part" '
		/Counters of hashbelt.h, by tests\/generate.sh/ {
			print
			while ((getline line <part) > 0)
				print line
			inside = found = 1
		}
		/End of the counters of hashbelt.h/ { inside = 0 }
		!inside
		END { exit inside || !found }' "$file" >"$work/whole" || {
		echo "$file: lacks one of the lines around the counters of hashbelt.h"
		return 1
	}
}

# each FILE COMMAND... - compare or write a file.
each() {
	replace "$@" || {
		failed=1
		return 0
	}
	if [ "$write" ]; then
		cat "$work/whole" >"$1"
	elif ! diff "$1" "$work/whole" >"$work/difference"; then
		echo "$1: differs from HASHBELT_COUNTERS of hashbelt.h; tests/generate.sh --write writes:"
		cat "$work/difference"
		failed=1
	fi
}

write='' failed=0
[ "${1-}" != --write ] || write=1
cd "$top"
rows >"$work/list"
constants docs/hashbelt.4 >"$work/documented"
cut -f 1 "$work/list" | head -n "$(wc -l <"$work/documented")" | diff "$work/documented" - \
	>"$work/moved" || {
	echo "hashbelt.h: counters keep their numbers, which docs/hashbelt.4 records; it differs:"
	cat "$work/moved"
	exit 1
}
awk -F '\t' '"HASHBELT_STAT_" toupper($2) != $1 { print "hashbelt.h: " $1 " has the name " $2 }' \
	"$work/list" >"$work/renamed"
if [ -s "$work/renamed" ]; then
	cat "$work/renamed"
	exit 1
fi
each docs/hashbelt.4 items
each docs/hbctl.1 fields
each tests/hbctl/recorded.prom families
exit $failed
