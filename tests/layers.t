#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# layers.t - layers.py prints each file of the module that includes or uses a header above it. A file that it
# printed without a cause would fail make check.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

mkdir -p belt/ground belt/keys belt/belts
cat >Kbuild <<'END'
obj-m := hashbelt.o
# belt/ground/: mechanisms
hashbelt-y := belt/ground/low.o belt/ground/high.o
# belt/: headers alone
# belt/keys/: one key
hashbelt-y += belt/keys/key.o
# belt/belts/: a belt as a whole
hashbelt-y += belt/belts/whole.o
# The module.
hashbelt-y += main.o
END

# start - write a module in which all is right.
start() {
	for name in belt/ground/low belt/ground/high belt/keys/key belt/belts/whole main; do
		echo "#include \"$name.h\"" >$name.c
		: >$name.h
	done
	echo '#include "low.h"' >belt/ground/high.h
	echo 'static inline struct high *is_high(int n) { return 0; }' >>belt/ground/high.h
	printf '#define IS_MANY(n) ((n) > 1)\n' >>belt/ground/high.h
	echo '#include "belt/ground/high.h"' >belt/belt.h
	echo '#include "belt/belt.h"' >>belt/keys/key.h
	echo '#include "belt/belt.h"' >>belt/belts/whole.h
	printf '#include "belt/keys/key.h"\n#include "belt/belts/whole.h"\n' >>main.c
	sed -i 's|"belt/[a-z]*/\([a-z]*\.h\)"|"\1"|' belt/*/*.c
}

# finds LINES DESCRIPTION [FILE TEXT] - with TEXT behind a FILE, layers.py prints LINES. Restores the module.
finds() {
	[ $# = 2 ] || printf '%s\n' "$4" >>"$3"
	printf '%b' "$1" >expected
	"$tests/layers.py" >found 2>&1
	diff expected found >difference
	result $? "$2" difference
	start
}

start
finds '' 'nothing is printed of a module whose files include and use what is below them'
finds 'belt/ground/low.c includes belt/ground/high.h, which Kbuild lists after it\n' \
	'a source that includes a header above it in its room is printed' belt/ground/low.c '#include "high.h"'
finds 'belt/ground/low.h includes belt/ground/high.h, which Kbuild lists after it\n' \
	'a header that includes one above it is printed' belt/ground/low.h '#include "belt/ground/high.h"'
finds 'belt/ground/high.c includes belt/belt.h, which Kbuild lists after it\n' \
	'a source that includes a header of a layer above it is printed, if that has no object' \
	belt/ground/high.c '#include "belt/belt.h"'
finds 'belt/belt.h includes a header of a layer that Kbuild lists after its own
belt/belt.h includes belt/keys/key.h, which Kbuild lists after it\n' \
	'a header without an object that includes one of a layer above its own is printed' \
	belt/belt.h '#include "belt/keys/key.h"'
finds 'belt/belts/whole.c includes belt/keys/key.h: neither may use the other\n' \
	'a source that includes a header of the room beside its own is printed, though that is listed before it' \
	belt/belts/whole.c '#include "belt/keys/key.h"'
finds 'belt/ground/low.c uses is_high of belt/ground/high.h, which Kbuild lists after it\n' \
	'a source that uses an inline function above it is printed' belt/ground/low.c 'int a = is_high(1);'
finds 'belt/ground/low.c uses IS_MANY of belt/ground/high.h, which Kbuild lists after it\n' \
	'a source that uses a macro above it is printed' belt/ground/low.c 'int a = IS_MANY(1);'
finish
