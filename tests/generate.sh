#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# generate.sh [--write] - compare the parts of files that come from a list with the list: prints the
# differences. With --write, write these parts anew. A part stands between two lines that name
# generate.sh.
#
# From HASHBELT_COUNTERS of hashbelt.h:
#
#	docs/hashbelt.4			the constants and their meaning
#	docs/hbctl.1			the names, among the fields of stat --json
#	tests/hbctl/recorded.prom	the families for Prometheus; the samples of a new counter are 0
#
# No counter may get another number or name. So generate.sh refuses a list that does not begin with
# the counters of docs/hashbelt.4, in their order, or in which a name is not that of its constant.
#
# From hashbelt.h, device/calls.h and tools/lib/hashbelt/client.h, by interface.py, which also names
# what other files lack of these, and adds that to the description for fuzzing, the record of the library's interface
# and the pages of man3:
#
#	tests/device/layout.h		numbers, rights, sizes, offsets, values
#	tools/lib/libhashbelt.map	the functions
#	docs/man3/libhashbelt.3		the functions, by their groups
#
# From tools/manage/settings_list.h:
#
#	docs/hbctl.1			the options of create, and a paragraph for each that has none; the
#					names of the settings, among the fields of info --json
#
# From paragraphs "Hostile user: ACTION; result: RESULT." in the heads of tests. A paragraph without a
# result names a further test of an action:
#
#	tests/hostile.md		a row for each action
# shellcheck disable=SC2317 # functions that each() calls
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run NAME - compile the program on stdin, and run it.
run() {
	cat >"$work/$1.c"
	cc -I"$top" -I"$top/tools/manage" -o "$work/$1" "$work/$1.c"
	"$work/$1"
}

# counters - print the constant, the name and the meaning of each counter, with tabs between them.
counters() {
	run counters <<-'END'
		#include <stdio.h>
		#include "hashbelt.h"
		#define ROW(constant, name, meaning) puts(#constant "\t" name "\t" meaning);
		int main(void) { HASHBELT_COUNTERS(ROW) return 0; }
	END
}

# settings - print the name, the argument and the name in JSON of each setting, with tabs between them.
settings() {
	run settings <<-'END'
		#include <stdio.h>
		#define YES_NO "[yes|no]"
		#define SETTING(name, argument, help, bit, kind, json, ...) puts(name "\t" argument "\t" json);
		int main(void)
		{
		#include "settings_list.h"
			return 0;
		}
	END
}

# documented FILE - print the counters that the manual page has.
documented() {
	sed -n '/^\.\\" Counters, by/,/^\.\\" End of/s/^\.It Dv //p' "$1"
}

items() {
	awk -F '\t' '{ print ".It Dv " $1; print $3 "." }' "$work/counter_list"
}

# fill MACRO LAST - print the names on stdin as arguments of the macro, in lines of some 80 columns.
# LAST follows the last name.
fill() {
	awk -v macro="$1" -v last="$2" '
		NR > 1 { line = line " ," }
		line && length(line $1) > 80 { print line; line = "" }
		{ line = (line ? line " " : macro " ") $1 }
		END { print line last }'
}

fields() {
	cut -f 2 "$work/counter_list" | fill .Va ' ,'
}

setting_fields() {
	cut -f 3 "$work/setting_list" | fill .Va ' ,'
}

# switches - print the settings that are true or false in JSON.
switches() {
	awk -F '\t' '$2 == "[yes|no]" { print $3 }' "$work/setting_list" | fill '.It Va' ''
	printf '.Cm true\nor\n.Cm false .\n'
}

# families FILE - print the families, with the samples that the file has.
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
		}' list="$work/counter_list" "$1" "$work/counter_list"
}

# options - print the options as the synopsis of create has them. Words are as they are, and
# placeholders, which are in capitals, in small letters.
options() {
	awk -F '\t' '
		{ text = "" }
		$2 ~ /\|all$/ { text = " Ar reasons" }
		!text && gsub(/[][]/, "", $2) { text = " Op" }
		text !~ /Ar/ {
			count = split($2, word, "|")
			for (i = 1; i <= count; i++) {
				kind = word[i] ~ /[A-Z]/ ? "Ar" : "Cm"
				if (i > 1)
					text = text " |"
				if (kind != last || i == 1)
					text = text " " kind
				text = text " " (length(word[i]) > 1 ? tolower(word[i]) : word[i])
				last = kind
			}
		}
		{ print ".Op Fl -" $1 text }' "$work/setting_list"
}

layout() {
	tests/interface.py layout
}

symbols() {
	tests/interface.py symbols
}

index() {
	tests/interface.py index
}

more_options() {
	tests/interface.py options
}

# hostile - print a row for each thing that a hostile user does, in the order of the tests.
hostile() {
	# shellcheck disable=SC2016 # the backquotes are Markdown
	git ls-files 'tests/*.c' | xargs awk '
		function end_paragraph(	parts, test) {
			test = "`" FILENAME "`"
			gsub(/tests\/|\.c/, "", test)
			sub(/\.$/, "", text)
			split(text, parts, "; result: ")
			if (!(parts[1] in tests))
				order[++count] = parts[1]
			else
				test = tests[parts[1]] ", " test
			tests[parts[1]] = test
			if (parts[2])
				result[parts[1]] = parts[2]
			text = ""
		}
		sub(/^ \* Hostile user: /, "") { text = $0; next }
		text && sub(/^ \* /, "") { text = text " " $0; next }
		text { end_paragraph() }
		END {
			print "\n| a hostile user | result | test |\n| --- | --- | --- |"
			for (i = 1; i <= count; i++)
				print "| " order[i] " | " result[order[i]] " | " tests[order[i]] " |"
			print ""
		}'
}

# replace LIST FILE COMMAND... - print the file with the output of the command in the place of the
# part that comes from the list.
replace() {
	list=$1 file=$2
	shift 2
	"$@" "$file" >"$work/part"
	awk -v part="$work/part" -v list="$list" '
		index($0, list ", by tests/generate.sh.") {
			print
			while ((getline line <part) > 0)
				print line
			inside = found = 1
		}
		/End of what tests\/generate.sh writes/ { inside = 0 }
		!inside
		END { exit inside || !found }' "$file" >"$work/whole" || {
		echo "$file: lacks one of the lines around: $list, by tests/generate.sh."
		return 1
	}
}

# each LIST FILE COMMAND... - compare or write a part of a file.
each() {
	replace "$@" || {
		failed=1
		return 0
	}
	if [ "$write" ]; then
		cat "$work/whole" >"$2"
	elif ! diff "$2" "$work/whole" >"$work/difference"; then
		echo "$2: $1: tests/generate.sh --write would make these changes:"
		cat "$work/difference"
		failed=1
	fi
}

write='' failed=0
[ "${1-}" != --write ] || write=1
cd "$top"
if [ "$write" ]; then
	tests/interface.py write || exit 1
else
	tests/interface.py check || failed=1
fi
counters >"$work/counter_list"
settings >"$work/setting_list"
documented docs/hashbelt.4 >"$work/documented"
cut -f 1 "$work/counter_list" | head -n "$(wc -l <"$work/documented")" |
	diff "$work/documented" - >"$work/moved" || {
	echo "hashbelt.h: counters keep their numbers, which docs/hashbelt.4 records; it differs:"
	cat "$work/moved"
	exit 1
}
awk -F '\t' '"HASHBELT_STAT_" toupper($2) != $1 { print "hashbelt.h: " $1 " has the name " $2 }' \
	"$work/counter_list" >"$work/renamed"
if [ -s "$work/renamed" ]; then
	cat "$work/renamed"
	exit 1
fi
each Counters docs/hashbelt.4 items
each Counters docs/hbctl.1 fields
each Counters tests/hbctl/recorded.prom families
each Settings docs/hbctl.1 options
each Switches docs/hbctl.1 switches
each 'Setting fields' docs/hbctl.1 setting_fields
each Interface tests/device/layout.h layout
each Functions tools/lib/libhashbelt.map symbols
each Functions docs/man3/libhashbelt.3 index
each 'Other settings' docs/hbctl.1 more_options
each 'Hostile users' tests/hostile.md hostile
exit $failed
