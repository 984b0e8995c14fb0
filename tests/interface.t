#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# interface.t - interface.py prints what a list lacks and what has changed, with file and line, and adds what it can.
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

# writes DESCRIPTION FILE TEXT... - interface.py write adds the texts to the files, and then check finds nothing.
writes() {
	writes_name=$1
	shift
	"$tests/interface.py" write >found 2>&1
	while [ $# != 0 ]; do
		grep -qF "$2" "$1" || echo "$1 lacks: $2" >>found
		shift 2
	done
	"$tests/interface.py" check >>found 2>&1
	[ ! -s found ]
	result $? "$writes_name" found
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

sed -i 's/^\(#define HASHBELT_IOC_SCAN\t.*\)/\1\
#define HASHBELT_IOC_SAMPLE\t_IOWR(HASHBELT_IOC_MAGIC, 0x0f, struct hashbelt_sample)/
	s|^#define HASHBELT_IOC_MAGIC.*|/**\n * struct hashbelt_sample - a sample\n * @key:\tpointer to its bytes\
 * @key_len:\ttheir number\n * @how:\tHASHBELT_BOUND or 0\n * @found:\treturned: a number\
 * @reserved:\tpass 0\n */\nstruct hashbelt_sample {\n\t__u64 key;\n\t__u32 key_len;\n\t__u32 how;\
\t__u64 found;\n\t__u64 reserved[2];\n};\n\n&|' hashbelt.h
sed -i 's/^\tITEM_CALL(GET).*/&\n\tCALL(SAMPLE, MAY(READ), hb_call_sample) \\/' device/calls.h
sed -i 's/HASHBELT_IOC_SCAN/& HASHBELT_IOC_SAMPLE/' docs/hashbelt.4
"$tests/interface.py" layout >rows
writes 'an ioctl and its structure are added to the description for fuzzing' \
	rows 'IOCTL(SAMPLE, 0xc028be0f, READ)' rows 'FIELD(sample, reserved, 24, 16)' \
	tests/fuzz/call.c 'ON(SAMPLE, 2, struct hashbelt_sample, sample_fields)' \
	tests/fuzz/call.c 'POINTER(hashbelt_sample, key, KEY, key_len)' \
	tests/fuzz/call.c 'FIELD(hashbelt_sample, how, BITS, HASHBELT_BOUND)' \
	tests/fuzz/call.c 'FIELD(hashbelt_sample, reserved, ZERO, 0)'
sed -i 's/^int hashbelt_clear(/int hashbelt_sample(struct hashbelt *belt, size_t count);\n&/' tools/lib/hashbelt/client.h
cat >>tools/lib/client.c <<'END'
/**
 * hashbelt_sample() - take a sample
 * @belt:	the handle
 * @count:	how large it is
 *
 * It is small.
 *
 * Return: 0; -EINVAL.
 */
END
writes 'a function is recorded, and its page is made from its comment' \
	tests/build/libhashbelt.record 'int hashbelt_sample(struct hashbelt *, size_t)' docs/man3/hashbelt_sample.3 '.Nd take a sample' \
	docs/man3/hashbelt_sample.3 '.Fa "size_t count"' docs/man3/hashbelt_sample.3 'It is small.'
"$tests/interface.py" symbols >rows
grep -q hashbelt_clear rows && ! grep -q hashbelt_item rows
result $? 'symbols has the functions that are not inline' rows
printf 'LIBHASHBELT_0.2 {\nglobal:\n} LIBHASHBELT_0.1;\n' >>tools/lib/libhashbelt.map
sed -i 's/^int hashbelt_clear(/int hashbelt_other(void);\n&/' tools/lib/hashbelt/client.h
"$tests/interface.py" symbols >rows
printf '\thashbelt_other;\n' | diff - rows >difference
result $? 'symbols has the functions alone that no earlier version has' difference
finish
