#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# review.sh MODEL... - record that these models have been compared with the functions of the
# module that they copy: entry, request, queue, and each litmus test by its name.
#
# review.sh --check MODEL FILE FUNCTION HASH - check that the function is unchanged since the
# model was compared with it. If it has changed, say what to do.
#
# review.sh --names MODEL - check that tests/models/functions has each function of the module
# that the model's comments name.
#
# tests/models/functions has a line "MODEL FILE FUNCTION HASH" for each function or macro that a
# model copies. To add one, write "-" for its hash, and review the model. The hash is that of the
# text without comments and without white space that has no meaning: neither a comment nor another
# indentation changes the hash.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
list=$here/functions

fail() {
	echo "review.sh: $1" >&2
	exit 1
}

# without_comments FILE
without_comments() {
	awk '{
		line = $0
		kept = ""
		for (;;) {
			if (inside) {
				at = index(line, "*/")
				if (!at)
					break
				line = substr(line, at + 2)
				inside = 0
			}
			at = index(line, "/*")
			if (!at) {
				kept = kept line
				break
			}
			kept = kept substr(line, 1, at - 1) " "
			line = substr(line, at + 2)
			inside = 1
		}
		sub(/\/\/.*/, "", kept)
		sub(/[ \t]+$/, "", kept)
		print kept
	}' "$1"
}

# text FILE NAME - print the definition of a function, from its type to its last brace, or of a
# macro; no declarations.
text() {
	without_comments "$1" | awk -v name="$2" '
		macro { print; macro = /\\$/; next }
		$1 == "#define" && $2 ~ "^" name "(\\(|$)" { print; macro = /\\$/; next }
		!body && !head && $0 ~ "^([a-zA-Z_].*[ *])?" name "\\(" {
			head = 1
			kept = before ~ /^[a-zA-Z_].*[^;:]$/ ? before "\n" : ""
		}
		head {
			kept = kept $0 "\n"
			if (/^{/) {
				head = 0
				body = 1
			} else if (/;$/) {
				head = 0
			}
			next
		}
		body {
			kept = kept $0 "\n"
			if (/^}/) {
				printf "%s", kept
				body = 0
			}
		}
		{ before = $0 }'
}

# hash FILE NAME - print the hash of a function or macro; nothing if the file does not have it.
hash() {
	text "$top/$1" "$2" | tr -s ' \t\n' ' ' |
		sed 's/ \{0,1\}\([^A-Za-z0-9_ ]\) \{0,1\}/\1/g; s/^ //; s/ $//' |
		awk '{ print } END { exit !NR }' >"$work/text" || return 0
	sha256sum <"$work/text" | cut -c 1-16
}

# source_of MODEL - print the file of a model.
source_of() {
	for file in "$here/$1".pml "$here/$1".litmus; do
		[ ! -e "$file" ] || echo "tests/models/${file##*/}"
	done
}

check() {
	is=$(hash "$2" "$3")
	[ "$is" ] || fail "review model $1: $2 has no $3; \
correct tests/models/functions and, if it needs that, $(source_of "$1")"
	[ "$is" = "$4" ] || fail "review model $1: $3 in $2 has changed; \
look at docs/races.md and $(source_of "$1"), then run tests/models/review.sh $1"
}

# names MODEL - check that tests/models/functions has each function of the module, not of the
# kernel, that the model's comments name.
names() {
	awk '
		/[/(]\*/ { inside = 1 }
		inside
		/\*[/)]/ { inside = 0 }' "$top/$(source_of "$1")" |
		grep -oE '[a-z_0-9]+\(\)' | tr -d '()' | sort -u |
		while read -r name; do
			! awk -v model="$1" -v name="$name" '
				$1 == model && $3 == name { found = 1 }
				END { exit !found }' "$list" || continue
			! grep -qE "^([a-z].*[ *])?$name\(" "$top"/hashbelt*.[ch] \
				"$top"/belt/*.h "$top"/belt/*/*.[ch] "$top"/device/*.[ch] ||
				echo "review model $1: $(source_of "$1") names $name()," \
					"which tests/models/functions does not have"
		done >"$work/names"
	cat "$work/names" >&2
	[ ! -s "$work/names" ]
}

# record MODEL - write the present hashes to all lines of a model.
record() {
	[ "$(source_of "$1")" ] || fail "no such model: $1"
	while IFS= read -r line; do
		case $line in
		"$1 "*)
			rest=${line#"$1 "}
			file=${rest%% *}
			name=${rest#"$file "}
			name=${name%% *}
			is=$(hash "$file" "$name")
			[ "$is" ] || fail "$file has no $name"
			[ "$line" = "$1 $file $name $is" ] || echo "$1: $name in $file" >&2
			line="$1 $file $name $is"
			;;
		esac
		printf '%s\n' "$line"
	done <"$list" >"$work/list"
	cp "$work/list" "$list"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${1-}$# in
--check5)
	shift
	check "$@"
	;;
--names2) names "$2" ;;
--* | 0) fail "usage: review.sh MODEL... | --check MODEL FILE FUNCTION HASH | --names MODEL" ;;
*)
	for model; do
		record "$model"
	done
	;;
esac
