#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - style and static analysis of all sources. Prints only errors.
#
#	checkpatch --strict	all C
#	kernel-doc -Werror	the kernel side
#	sparse, W=1	the kernel side
#	layers		no file of the module uses symbols, headers or inline functions of one that Kbuild lists
#			after it; hbctl, hbserve and hbfollow use no symbols of objects that tools/Makefile lists after
#			theirs; and docs/design.md shows the files of the module in the order of Kbuild
#	locks		each lock of the module has a rule, and the picture of docs/design.md has their order
#	shell scripts	all, by shellcheck; those that call cd are not led astray by CDPATH
#	manual pages	all, by mandoc
#	words	all files, for words that docs and comments avoid
#	pictures	those of docs/pictures, and the tables of docs/performance.md, are what their
#			data give
#	Python		bindings/python by mypy --strict, and it, its tests and tests/conformance by flake8;
#			what it takes from hashbelt.h, by the compiler
#	generated	tests/generate.sh --write would change no file
#	mutants		the lists in tests/mutation fit the sources
#	SPDX	every file
#	REUSE	copyright and licence of every file, by `reuse lint`
#	versions	the packages have the version of hashbelt_version.h; those of a release have an
#			address that can get mail
#	sign-offs	commits since the last tag, or the last commit
#
# The checks run in parallel. A file that checkpatch has found clean is remembered by its content,
# and not checked again: the result of checkpatch depends on the file alone.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/environment.sh
. "$tests/environment.sh"
cd "$top" || exit 1

checkpatch=$("$tests/cache.sh" checkpatch) || exit 1
clean=$checkpatch/clean

files() {
	git ls-files --cached --others --exclude-standard -- "$@" | sed "s|^|$top/|"
}

# style IGNORED FILE... - run checkpatch, in a directory of its own, where it leaves a file.
# Prints errors; files without errors are remembered in $clean.
style() {
	ignored=$1
	shift
	perl "$checkpatch/checkpatch.pl" --no-tree --root="$work" --strict --quiet --terse \
		--no-summary --ignore "$ignored" --file "$@" >complaints 2>&1 ||
		[ -s complaints ] || echo "checkpatch failed on $*" >complaints
	if [ -s complaints ]; then
		cat complaints
		return
	fi
	for file; do
		: >"$clean/$(key "$ignored" "$file")"
	done
}

# key IGNORED FILE - print a hash of all that checkpatch's result for a file depends on.
key() {
	{
		echo "$1 ${2#"$top"/}"
		cat "$work/tool" "$2"
	} | sha256sum | cut -c 1-32
}

# styles IGNORED FILE... - check the files that are not known to be clean, a few in each process.
styles() {
	ignored=$1
	shift
	for file; do
		[ -e "$clean/$(key "$ignored" "$file")" ] || echo "$file"
	done | xargs -r -n 6 -P "$(nproc)" "$tests/check.sh" --style "$work" "$ignored"
}

check_style() {
	# shellcheck disable=SC2046 # names without spaces
	styles NONE $(files '*.c' '*.h' | grep -v -e /tests/ -e /tools/ -e /examples/ -e /bindings/ \
		-e /hashbelt.h -e belt/belt.h -e belt/ground/compat.h -e belt/settings.h -e belt/ground/trace.h \
		-e belt/belts/set.c -e device/calls.h)
	# A macro that is a list has no parentheses around it, and names its argument in each row.
	styles COMPLEX_MACRO,MACRO_ARG_REUSE "$top/hashbelt.h"
	# An iterator repeats its arguments, and declares one of them.
	styles MACRO_ARG_REUSE,MACRO_ARG_PRECEDENCE "$top/belt/belt.h"
	# It has a macro of newer kernels.
	styles MACRO_ARG_REUSE "$top/belt/ground/compat.h"
	# A macro has members of a structure as an argument, and another one is a list.
	styles PARENTHESIS_ALIGNMENT,COMPLEX_MACRO,MACRO_ARG_REUSE "$top/belt/settings.h"
	# It has a list as hashbelt.h, and declares a function for each row.
	styles COMPLEX_MACRO,MACRO_ARG_REUSE,TRAILING_SEMICOLON "$top/device/calls.h"
	# Macros are the meanings of a row of that list.
	styles MULTISTATEMENT_MACRO_USE_DO_WHILE,TRAILING_SEMICOLON,MACRO_ARG_PRECEDENCE,MACRO_ARG_REUSE \
		"$top/belt/belts/set.c"
	# Trace points have a special form.
	styles OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT,SPACING "$top/belt/ground/trace.h"
	# User space has neither the kernel's macros nor its string functions, and C11's
	# own words count as camel case.
	user=ARRAY_SIZE,PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,STRCPY,STRNCPY
	user=$user,CAMELCASE,MACRO_ARG_REUSE,STATIC_CONST,EMBEDDED_FUNCTION_NAME
	user=$user,SSCANF_TO_KSTRTO,CONSIDER_KSTRTO,VOLATILE
	# shellcheck disable=SC2046
	styles "$user" $(files 'tests/*.c' 'tests/*.h' 'tools/*.c' 'tools/*.h' 'examples/*.c' 'bindings/*.[ch]' |
		grep -v -e /hashbelt/client.h -e /hbctl/hbctl.c -e /manage/commands.c -e /kunit/suite.h)
	# A macro of the kernel's is there, whose argument is the name of a member.
	styles "$user,MACRO_ARG_PRECEDENCE" "$top/tests/kunit/suite.h"
	# Their help has paragraphs, which are split where the source is.
	styles "$user,SPLIT_STRING" "$top/tools/hbctl/hbctl.c" "$top/tools/manage/commands.c"
	# It has a list as hashbelt.h.
	styles "$user,COMPLEX_MACRO" "$top/tools/lib/hashbelt/client.h"
}

check_comments() {
	# shellcheck disable=SC2046
	perl /usr/lib/linux-kbuild-6.1/scripts/kernel-doc -none -Werror \
		$(files 'hashbelt*.[ch]' 'belt/*.[ch]' 'device/*.[ch]')
}

check_module() {
	mkdir "$work/module"
	cp -r Kbuild hashbelt*.[ch] belt device "$work/module"
	make -C "$kdir" M="$work/module" W=1 C=2 modules >"$work/build" 2>&1 ||
		echo "the module does not build"
	grep -E 'warning:|error:' "$work/build"
	# shellcheck disable=SC2046 # names without spaces
	check_layers "$work/module" Kbuild $(objects)
	tests/layers.py
	check_picture
}

check_tools() {
	check_program hbctl objects
	check_program hbserve objects-serve
	check_program hbfollow objects-follow
}

# check_program NAME TARGET - check the objects that make prints for the target. A warning of the
# compiler stays in a log of its own.
check_program() {
	make -s -C tools O="$work/tools" "$2" >"$work/objects" 2>>"$work/tools.log" ||
		echo "$1 does not build"
	# shellcheck disable=SC2046 # names without spaces
	check_layers "$work" tools/Makefile $(sed "s|^$work/||" "$work/objects")
}

# objects - print the objects of the module, in the order of Kbuild: bottom-up.
objects() {
	sed -n 's/^hashbelt-y [:+]= //p' Kbuild | tr ' ' '\n'
}

# check_layers DIRECTORY LIST OBJECT... - in the order of the LIST, which is bottom-up, an object
# uses symbols only of those before it.
check_layers() {
	directory=$1 list=$2
	shift 2
	for object; do
		nm --format=posix "$directory/$object" | sed "s|^|$object |"
	done | awk -v list="$list" '
		!($1 in place) { place[$1] = ++objects }
		$3 == "U" { uses[$1 " " $2]; next }
		$3 ~ /[A-Z]/ && $2 !~ /^__(ksym|kstr|crc)/ { home[$2] = $1 }
		END {
			for (use in uses) {
				split(use, word, " ")
				if (word[2] in home && place[home[word[2]]] > place[word[1]])
					print word[1] " uses " word[2] " of " home[word[2]] \
						", which " list " lists after it"
				if (word[1] ~ /^device\// && home[word[2]] == "hashbelt_core.o")
					print word[1] " uses " word[2] ", which is for other modules"
				if (word[1] ~ /^belt\/belts\// && home[word[2]] ~ /^belt\/keys\//)
					print word[1] " uses " word[2] " of " home[word[2]] \
						": neither may use the other"
			}
		}'
}

# check_picture - docs/design.md shows the same files, top-down.
check_picture() {
	objects | sed 's|.*/||; s/o$/c/' | tac >"$work/files"
	awk '/^## / { inside = /^## The parts/ } inside && /^ *[a-z_]+\.c / { print $1 }' \
		docs/design.md | diff "$work/files" - |
		sed -n 's/^< /docs\/design.md, The parts: missing or in the wrong place: /p
			s/^> /docs\/design.md, The parts: in the wrong place: /p'
}

check_pictures() {
	tests/bench/plot.sh --check
}

# check_scripts - scripts are found by their first line.
check_scripts() {
	# shellcheck disable=SC2046
	shellcheck -x $(files | xargs grep -lE '^#!/bin/sh|^# shellcheck shell')
	# cd prints a directory, and may choose another, where CDPATH is set.
	# shellcheck disable=SC2016 # the text of scripts
	files | xargs grep -l '^#!/bin/sh' | xargs grep -lF '$(cd ' |
		xargs grep -L -e '^unset CDPATH' -e '^\. .*overlay\.sh' | sed 's/$/: lacks unset CDPATH/'
}

# A page that refers to another as a whole (.so) has its path from the directory above man3.
check_manuals() {
	(cd docs && mandoc -T lint -W warning -- *.[1-9] man3/*.3) 2>&1 | grep -v '\.so is fragile'
}

# Licences stay as they were written; pictures, JSON and some files of debian/ have no comments.
# .reuse/dep5 has these.
check_spdx() {
	files ':!COPYING' ':!LICENSES' ':!.reuse' ':!docs/pictures/*.svg' ':!docs/pictures/*.txt' \
		':!docs/pictures/*.json' \
		':!docs/monitoring/*.json' ':!debian/changelog' ':!debian/copyright' \
		':!debian/source' |
		while read -r file; do
			head -n 3 "$file" | grep -q SPDX-License-Identifier ||
				echo "$file: no SPDX line"
		done
}

# A file that reuse cannot read is an error in its output, and not in its status.
check_reuse() {
	reuse lint >"$work/reuse" 2>&1 && ! grep -q ' - ERROR - ' "$work/reuse" && return
	echo "reuse lint fails:"
	sed '/^# SUMMARY/,$d; /^$/d' "$work/reuse"
}

check_versions() {
	version=$(sed -n 's/^#define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' hashbelt_version.h)
	head -n 1 debian/changelog | grep -qF "hashbelt ($version) " ||
		echo "debian/changelog: expected the first entry for version $version"
	[ "$(sed -n 's/^Version: *//p' hashbelt.spec)" = "$version" ] ||
		echo "hashbelt.spec: expected Version: $version"
	# A version that is not "(unreleased)" is a release (CONTRIBUTING.md).
	grep -qxF "## $version (unreleased)" CHANGELOG.md ||
		grep -n '@[^ ]*\.example\>' debian/control debian/changelog hashbelt.spec |
		sed 's/^\([^:]*:[0-9]*\):.*/\1: a release needs an address that can get mail/'
}

# Licences, and the rule with its test, have the words that the rule is about.
check_words() {
	git ls-files --cached --others --exclude-standard |
		grep -vE '^(LICENSES/|COPYING$|tests/(check\.sh|words\.(awk|t))$)' |
		xargs awk -f "$tests/words.awk"
}

# The package, which other checkers of types read, has no error of types. One module of it is generated.
check_python() {
	mkdir "$work/python"
	cp -r bindings/python/hashbelt bindings/python/pyproject.toml "$work/python"
	bindings/python/generate.py "$work/python/hashbelt/_abi.py"
	(cd "$work/python" && mypy --strict --cache-dir "$work/mypy" hashbelt | grep -v '^Success: ')
	mypy --strict --cache-dir "$work/mypy" bindings/python/generate.py | grep -v '^Success: '
	tests/python/abi.py
	# shellcheck disable=SC2046 # names without spaces
	flake8 --max-line-length 100 $(files 'bindings/*.py' 'tests/python/*.py' 'examples/python/*.py' 'tests/conformance/*.py')
}

# One of the processes that styles() starts: check.sh --style WORK IGNORED FILE...
if [ "${1-}" = --style ]; then
	work=$2
	shift 2
	cd "$(mktemp -d -p "$work")" && style "$@"
	exit
fi

"$tests/need.sh" gcc make pkg-config git sparse shellcheck perl libncurses-dev libinih-dev libsmartcols-dev \
	libevent-dev libssl-dev libsystemd-dev libhiredis-dev libpq-dev jq linux-source-6.1 linux-kbuild-6.1 reuse mandoc mypy flake8 ||
	exit 1
kdir=$("$tests/vm/kernel.sh" headers) || exit 1
work=$(mktemp -d)
mkdir "$work/include" # where checkpatch looks for names in camel case
trap 'rm -rf "$work"' EXIT
mkdir -p "$clean"
# checkpatch is only in the kernel's source, and works without the rest of it.
if [ ! -f "$checkpatch/checkpatch.pl" ]; then
	mkdir -p "$checkpatch"
	tar -xf /usr/src/linux-source-6.1.tar.xz -C "$checkpatch" --strip-components=2 \
		--wildcards '*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch' || exit 1
fi

sha256sum "$checkpatch"/*.* >"$work/tool"
find "$clean" -type f -mtime +30 -delete

check_style >"$work/style.log" 2>&1 &
check_comments >"$work/comments.log" 2>&1 &
check_module >"$work/module.log" 2>&1 &
check_pictures >"$work/pictures.log" 2>&1 &
tests/lock_order.py >"$work/locks.log" 2>&1 &
"$tests/generate.sh" >"$work/generated.log" 2>&1 &
tests/mutation/run.sh --check >"$work/mutants.log" 2>&1 &
check_tools >"$work/circles.log" 2>&1 &
check_scripts >"$work/scripts.log" 2>&1 &
check_manuals >"$work/manuals.log" 2>&1 &
check_spdx >"$work/spdx.log" 2>&1 &
check_reuse >"$work/reuse.log" 2>&1 &
check_words >"$work/words.log" 2>&1 &
check_versions >"$work/versions.log" 2>&1 &
check_python >"$work/python.log" 2>&1 &
tests/signed.sh >"$work/signed.log" 2>&1 &
wait
cat "$work"/*.log >"$work/complaints"
cat "$work/complaints" >&2
[ ! -s "$work/complaints" ]
