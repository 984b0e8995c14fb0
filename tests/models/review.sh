#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# review.sh MODEL... - record that these models have been compared with the functions of the
# module that they copy: entry, request, queue, and each litmus test by its name.
#
# review.sh --check MODEL FILE HASH FUNCTION... - check that the functions are unchanged since the
# model was compared with them. If one has changed, say what to do.
#
# review.sh --names MODEL - check that tests/models/functions has each function of the module
# that the model's comments name.
#
# tests/models/functions has a line "MODEL FILE HASH FUNCTION..." for the functions and macros of a file that
# a model copies. To add some, write "-" for their hash, and review the model. The hash is that of the
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

# text FILE NAME - print the definition of a function, from its type to its last brace, or of a
# macro; no declarations.
text() {
	# Without comments; the lines of a macro are joined.
	gcc -w -fpreprocessed -dD -E -P -x c "$1" | awk -v name="$2" '
		$1 == "#define" && $2 ~ "^" name "(\\(|$)" { print; next }
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

# hash MODEL FILE NAME... - print the hash of these functions or macros. Fails if the file lacks one.
hash() {
	hashed=$1 file=$2
	shift 2
	for name; do
		text "$top/$file" "$name" >"$work/text"
		[ -s "$work/text" ] || fail "review model $hashed: $file has no $name; \
correct tests/models/functions and, if it needs that, $(source_of "$hashed")"
		tr -s ' \t\n' ' ' <"$work/text" | sed 's/ \{0,1\}\([^A-Za-z0-9_ ]\) \{0,1\}/\1/g; s/^ //; s/ $//'
		echo
	done >"$work/all"
	sha256sum <"$work/all" | cut -c 1-16
}

# source_of MODEL - print the file of a model.
source_of() {
	for file in "$here/$1".pml "$here/$1".litmus; do
		[ ! -e "$file" ] || echo "tests/models/${file##*/}"
	done
}

check() {
	model=$1 source=$2 was=$3
	shift 3
	is=$(hash "$model" "$source" "$@") || exit 1
	[ "$is" = "$was" ] || fail "review model $model: one of these in $source has changed: $*; \
look at docs/races.md and $(source_of "$model"), then run tests/models/review.sh $model"
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
			! grep -q "^$1 .* $name\( \|$\)" "$list" || continue
			! grep -qE "^([a-z].*[ *])?$name\(" "$top"/hashbelt*.[ch] \
				"$top"/belt/*.h "$top"/belt/*/*.[ch] "$top"/device/*.[ch] ||
				echo "review model $1: $(source_of "$1") names $name()," \
					"which tests/models/functions does not have"
		done >"$work/names"
	cat "$work/names" >&2
	[ ! -s "$work/names" ]
}

# renewed MODEL FILE HASH NAME... - print the line with the present hash.
renewed() {
	model=$1 source=$2 was=$3
	shift 3
	is=$(hash "$model" "$source" "$@") || exit 1
	[ "$was" = "$is" ] || echo "$model: $* in $source" >&2
	echo "$model $source $is $*"
}

# record MODEL - write the present hashes to all lines of a model.
record() {
	[ "$(source_of "$1")" ] || fail "no such model: $1"
	while read -r line; do
		# shellcheck disable=SC2086 # words, split on purpose
		[ "${line%% *}" != "$1" ] || line=$(renewed $line) || exit 1
		printf '%s\n' "$line"
	done <"$list" >"$work/list"
	cp "$work/list" "$list"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${1-} in
--check)
	shift
	check "$@"
	;;
--names) names "$2" ;;
--* | '') fail "usage: review.sh MODEL... | --check MODEL FILE HASH FUNCTION... | --names MODEL" ;;
*)
	for model; do
		record "$model"
	done
	;;
esac
