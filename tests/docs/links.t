#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# links.t - what README.md and docs/ refer to is there: files, targets of make, scripts. And each
# command that they show is of a kind that a test runs.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

"$tests/need.sh" git make || exit 1
cd "$top" || exit 1
files=$(git ls-files '*.md')

# absent_files - prints each link to a file that is not there, from the file that has the link.
absent_files() {
	for file in $files; do
		grep -o '](\([^)#]*\)' "$file" | sed 's/^](//' | grep -v -e '^https*:' -e '^$' |
			while read -r link; do
				[ -e "$(dirname "$file")/$link" ] || echo "$file: no $link"
			done
	done
}

# shown KINDS - the commands of these kinds (shown.awk), each with its place.
shown() {
	for file in $files docs/hbctl.1; do
		awk -v kinds="$1" -f tests/docs/shown.awk "$file" | grep -v '^[+=]' |
			sed "s|^[a-z]*\t\([0-9]*\)\t|$file:\1\t|"
	done
}

# commands WORD - the commands that begin with the word.
commands() {
	shown "tests machine" | cut -f 2 | grep "^$1" | sed 's/ && .*//' | sort -u
}

# absent_names - prints the suites, and the names in ONLY, of commands that run tests, if they are
# not there. SUITE stands for any.
absent_names() {
	shown tests | while IFS=$(printf '\t') read -r place command; do
		for name in $(echo "$command" | sed -n 's/.*ONLY="\([^"]*\)".*/\1/p'); do
			git grep -qw "$name" -- tests ':!tests/suites' ':!tests/suites.sh' || echo "$place: no $name"
		done
		for suite in $(echo "$command" | sed -n 's|.*tests/run\.sh ||p'); do
			case $suite in SUITE... | --*) continue ;; esac
			cut -f 1 tests/suites | grep -Fqx -e "$suite" ||
				echo "$place: no suite $suite"
		done
	done
}

# absent_targets - prints each command of make in the docs that make does not know.
absent_targets() {
	commands make | grep -E '^make( |$)' | while read -r make arguments; do
		# A shell splits the arguments: they may have quotes.
		sh -c "$make -n ${arguments:-all}" >/dev/null 2>"$temporary/err" ||
			echo "make $arguments: $(head -n 1 "$temporary/err")"
	done
}

absent_scripts() {
	commands tests/ | while read -r script _; do
		[ -x "$script" ] || echo "no $script"
	done
}

# absent_tests - prints what tests/guarantees names and is not there: files, and names in these files. A model is a
# file or a folder of tests/models, or a part of its name.
absent_tests() {
	grep -v '^#' tests/guarantees | while read -r _ file names; do
		for name in ${names:-''}; do
			case $file in
			models/*) git ls-files tests/models | grep -q "/${file#models/}\." ;;
			*) grep -qw -e "$name" "tests/$file" ;;
			esac || echo "tests/guarantees: no $file${name:+: $name}"
		done
	done 2>&1
}

# untested - prints each guarantee for which tests/guarantees names no test.
untested() {
	sed -n 's/^### \([0-9]*\)\..*/\1/p' docs/guarantees.md | while read -r number; do
		grep -q "^$number	" tests/guarantees || echo "$number"
	done
}

result "each link of README.md, docs/ and the other documents leads to a file" "$(absent_files)"
result "each make command that the documents show has a target" "$(absent_targets)"
result "each script of tests/ that the documents show can be run" "$(absent_scripts)"
result "each suite and each name in ONLY that the documents show is there" "$(absent_names)"
result "each block of the documents is indented and has commands, or is fenced as c, text or python" \
	"$(shown unknown)"
result "the documents show commands of all kinds" "$(
	for kind in guest manual store models tests boot confined machine; do
		[ "$(shown "$kind")" ] || echo "found no $kind"
	done)"
result "each test that tests/guarantees names is there" "$(absent_tests)"
result "each guarantee has a test" "$(untested)"
finish
