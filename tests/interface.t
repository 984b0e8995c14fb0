#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# interface.t - interface.py prints each line that a list lacks, and each that has changed, with file and line.
# A person reads the lines that interface.py adds.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# start - take the files of this source.
start() {
	(cd "$tests/.." && tar -c hashbelt.h device/calls.h docs/man3 docs/hashbelt.4 docs/hbctl.1 tests/device/layout.h \
		tests/build/libhashbelt.record tests/fuzz tools/lib tools/manage/settings_list.h) | tar -x
}

# finds PATTERN... DESCRIPTION - interface.py check prints a line with each pattern, and no other line.
finds() {
	"$tests/interface.py" check >found 2>&1
	: >patterns
	while [ $# != 1 ]; do
		echo "$1" >>patterns
		grep -q "$1" found || echo "no line has: $1" >>found
		shift
	done
	! grep -vq -f patterns found
	result $? "$1" found
	start
}

start
finds 'nothing is printed of the source as it is'
sed -i 's/^\(#define HASHBELT_IF_ABSENT\t\)0x01/\10x1000/' hashbelt.h
finds '^hashbelt.h:[0-9]*: VALUE(IF_ABSENT) is 0x1000, and 0x01 in tests/device/layout.h:[0-9]*: it must not change$' \
	'a constant that has another value is printed'
sed -i 's/^#define HASHBELT_IF_PRESENT\t.*//' hashbelt.h
finds 'VALUE(IF_PRESENT) is gone, which tests/device/layout.h:[0-9]* records' 'a constant that is gone is printed'
sed -i 's/^\t__u64 grace_ms;/\t__u32 grace_ms;/' hashbelt.h
finds '^hashbelt.h:[0-9]*: FIELD(\(settings\|info\), [a-z_]*) is ' 'members that have moved are printed'
sed -i '/ITEM_CALL(TOUCH)/d' device/calls.h
finds '^hashbelt.h:[0-9]*: HASHBELT_IOC_TOUCH has no row in device/calls.h$' \
	'an ioctl without a row in calls.h is printed'
sed -i '/HASHBELT_IOC_COMPLETE/s/.*//' docs/hashbelt.4
finds '^hashbelt.h:[0-9]*: docs/hashbelt.4 does not name HASHBELT_IOC_COMPLETE$' \
	'an ioctl that hashbelt.4 does not name is printed'
sed -i 's/^int hashbelt_clear(/int hashbelt_other(void);\n&/' tools/lib/hashbelt/client.h
finds 'hashbelt_other\((void)\)\{0,1\} has no page' 'hashbelt_other(void) is missing' \
	'a function without a page and a record is printed'
sed -i 's/hashbelt_advance(struct hashbelt \*belt, __u64 ms)/hashbelt_advance(struct hashbelt *belt, __u32 ms)/' \
	tools/lib/hashbelt/client.h
finds '^tools/lib/hashbelt/client.h:[0-9]*: .*_advance(.*) has changed or is gone' '_advance(.*) is missing' \
	'a function with another argument is printed'
sed -i '/X(HASHBELT_CALL_NEXT, /d' tools/lib/hashbelt/client.h
"$tests/interface.py" check | grep -q 'HASHBELT_CALL_GET = 5 has changed or is gone'
result $? 'a constant of the library with another value is printed' /dev/null
start
sed -i '/"touch_bound"/s/touch_bound/absent/' tools/lib/hashbelt/client.h
finds '^tools/lib/hashbelt/client.h:[0-9]*: no function hashbelt_absent is declared$' \
	'a call whose function is not declared is printed'
finish
