#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# check.sh - style and static analysis of all sources. Prints only complaints.
#
#	checkpatch --strict	all C
#	kernel-doc -Werror	the kernel side
#	sparse, W=1	the kernel side
#	shell scripts	all, by shellcheck
#	SPDX	every file
set -u

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
cd "$top" || exit 1

"$tests/need.sh" gcc make sparse shellcheck perl linux-source-6.1 linux-kbuild-6.1 ||
	exit 1
kdir=$("$tests/vm/kernel.sh" headers) || exit 1
work=$(mktemp -d)
mkdir "$work/include" # where checkpatch looks for names in camel case
trap 'rm -rf "$work"' EXIT
status=0

files() {
	git ls-files --cached --others --exclude-standard -- "$@" | sed "s|^|$top/|"
}

# complain NAME - passes complaints on and remembers that there were some.
complain() {
	if [ -s "$work/$1" ]; then
		cat "$work/$1" >&2
		status=1
	fi
}

# checkpatch stands in the kernel's source only, and works alone.
checkpatch=$top/.cache/checkpatch
if [ ! -f "$checkpatch/checkpatch.pl" ]; then
	mkdir -p "$checkpatch"
	tar -xf /usr/src/linux-source-6.1.tar.xz -C "$checkpatch" --strip-components=2 \
		--wildcards '*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch' || exit 1
fi

# style IGNORED FILE...
style() {
	ignored=$1
	shift
	# It leaves a file where it runs.
	(cd "$work" && perl "$checkpatch/checkpatch.pl" --no-tree --root="$work" --strict --quiet --terse \
		--no-summary --ignore "$ignored" --file "$@") >>"$work/checkpatch" 2>&1
}

: >"$work/checkpatch"
# shellcheck disable=SC2046 # names without spaces
style NONE $(files '*.c' '*.h' | grep -v -e /tests/ -e /tools/ -e /examples/ \
	-e hashbelt_compat.h -e hashbelt_trace.h)
# The one place where versions of the kernel may be told apart.
style LINUX_VERSION_CODE,CONSTANT_COMPARISON "$top/hashbelt_compat.h"
# Trace points have a form of their own.
style OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT "$top/hashbelt_trace.h"
# User space has neither the kernel's macros nor its string functions, and C11's
# own words count as camel case.
user=ARRAY_SIZE,PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,STRCPY,STRNCPY,CAMELCASE
user=$user,MACRO_ARG_REUSE,STATIC_CONST,EMBEDDED_FUNCTION_NAME,SSCANF_TO_KSTRTO,CONSIDER_KSTRTO,VOLATILE
# shellcheck disable=SC2046
style "$user" $(files 'tests/*.c' 'tests/*.h' 'tools/*.c' 'tools/*.h' 'examples/*.c')
complain checkpatch

# shellcheck disable=SC2046
perl /usr/lib/linux-kbuild-6.1/scripts/kernel-doc -none -Werror \
	$(files 'hashbelt*.c' 'hashbelt*.h') >"$work/kernel-doc" 2>&1
complain kernel-doc

mkdir "$work/module"
cp Kbuild hashbelt*.[ch] "$work/module"
make -C "$kdir" M="$work/module" W=1 C=2 modules >"$work/build" 2>&1 ||
	echo "the module does not build" >"$work/sparse"
grep -E 'warning:|error:' "$work/build" >>"$work/sparse"
complain sparse

# Scripts say by their first line what they are.
# shellcheck disable=SC2046
shellcheck -x $(files | xargs grep -lE '^#!/bin/sh|^# shellcheck shell') \
	>"$work/shellcheck" 2>&1
complain shellcheck

files | while read -r file; do
	head -n 3 "$file" | grep -q SPDX-License-Identifier ||
		echo "$file: no SPDX line"
done >"$work/spdx"
complain spdx

exit $status
