#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# check.sh - style and static analysis of all sources. Prints only complaints.
#
#	checkpatch --strict	all C
#	kernel-doc -Werror	the kernel side
#	sparse, W=1	the kernel side
#	layers		no object of the module uses one that Kbuild lists after it, and docs/design.md
#			shows the files in the same order
#	shell scripts	all, by shellcheck
#	SPDX	every file
#
# They run side by side. A file that checkpatch has found clean is remembered by its content, and
# not looked at again: checkpatch sees nothing but the file.
set -u

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
cd "$top" || exit 1

checkpatch=$("$tests/cache.sh" checkpatch) || exit 1
clean=$checkpatch/clean

files() {
	git ls-files --cached --others --exclude-standard -- "$@" | sed "s|^|$top/|"
}

# style IGNORED FILE... - to be run in a directory of its own, where checkpatch leaves a file.
# Prints complaints; files without any are remembered in $clean.
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

# key IGNORED FILE - what checkpatch's verdict on a file depends on.
key() {
	{
		echo "$1 ${2#"$top"/}"
		cat "$work/tool" "$2"
	} | sha256sum | cut -c 1-32
}

# styles IGNORED FILE... - those that are not known to be clean, a few at a time.
styles() {
	ignored=$1
	shift
	for file; do
		[ -e "$clean/$(key "$ignored" "$file")" ] || echo "$file"
	done | xargs -r -n 6 -P "$(nproc)" "$tests/check.sh" --style "$work" "$ignored"
}

check_style() {
	# shellcheck disable=SC2046 # names without spaces
	styles NONE $(files '*.c' '*.h' | grep -v -e /tests/ -e /tools/ -e /examples/ \
		-e belt/compat.h -e belt/trace.h)
	# The one place where versions of the kernel may be told apart.
	styles LINUX_VERSION_CODE,CONSTANT_COMPARISON "$top/belt/compat.h"
	# Trace points have a form of their own.
	styles OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT "$top/belt/trace.h"
	# User space has neither the kernel's macros nor its string functions, and C11's
	# own words count as camel case.
	user=ARRAY_SIZE,PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,STRCPY,STRNCPY
	user=$user,CAMELCASE,MACRO_ARG_REUSE,STATIC_CONST,EMBEDDED_FUNCTION_NAME
	user=$user,SSCANF_TO_KSTRTO,CONSIDER_KSTRTO,VOLATILE
	# shellcheck disable=SC2046
	styles "$user" $(files 'tests/*.c' 'tests/*.h' 'tools/*.c' 'tools/*.h' 'examples/*.c')
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
	check_layers
	check_picture
}

# objects - those of the module, in the order of Kbuild: bottom-up.
objects() {
	sed -n 's/^hashbelt-y [:+]= //p' Kbuild | tr ' ' '\n'
}

# An object uses symbols only of those before it in Kbuild.
check_layers() {
	for object in $(objects); do
		nm --format=posix "$work/module/$object" | sed "s|^|$object |"
	done | awk '
		!($1 in place) { place[$1] = ++objects }
		$3 == "U" { uses[$1 " " $2]; next }
		$3 ~ /[A-Z]/ && $2 !~ /^__(ksym|kstr|crc)/ { home[$2] = $1 }
		END {
			for (use in uses) {
				split(use, word, " ")
				if (word[2] in home && place[home[word[2]]] > place[word[1]])
					print word[1] " uses " word[2] " of " home[word[2]] \
						", which Kbuild lists after it"
			}
		}'
}

# docs/design.md shows the same files, top-down.
check_picture() {
	objects | sed 's|.*/||; s/o$/c/' | tac >"$work/files"
	awk '/^## / { inside = /^## The parts/ } inside && /^ +[a-z_]+\.c / { print $1 }' \
		docs/design.md | diff "$work/files" - |
		sed -n 's/^< /docs\/design.md, The parts: missing or in the wrong place: /p
			s/^> /docs\/design.md, The parts: in the wrong place: /p'
}

# Scripts say by their first line what they are.
check_scripts() {
	# shellcheck disable=SC2046
	shellcheck -x $(files | xargs grep -lE '^#!/bin/sh|^# shellcheck shell')
}

check_spdx() {
	files | while read -r file; do
		head -n 3 "$file" | grep -q SPDX-License-Identifier ||
			echo "$file: no SPDX line"
	done
}

# One of the processes that styles() starts: check.sh --style WORK IGNORED FILE...
if [ "${1-}" = --style ]; then
	work=$2
	shift 2
	cd "$(mktemp -d -p "$work")" && style "$@"
	exit
fi

"$tests/need.sh" gcc make git sparse shellcheck perl linux-source-6.1 linux-kbuild-6.1 ||
	exit 1
kdir=$("$tests/vm/kernel.sh" headers) || exit 1
work=$(mktemp -d)
mkdir "$work/include" # where checkpatch looks for names in camel case
trap 'rm -rf "$work"' EXIT
mkdir -p "$clean"
# checkpatch stands in the kernel's source only, and works alone.
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
check_scripts >"$work/scripts.log" 2>&1 &
check_spdx >"$work/spdx.log" 2>&1 &
wait
cat "$work"/*.log >"$work/complaints"
cat "$work/complaints" >&2
[ ! -s "$work/complaints" ]
