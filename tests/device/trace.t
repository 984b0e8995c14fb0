#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# trace.t - the trace points print what docs/design.md documents.
#
# Prints TAP. For a guest with the module loaded and tracefs, as the superuser, in a
# directory with hbctl.

unset CDPATH
# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

tracing=/sys/kernel/tracing

# traced NAME PATTERN - the check passes if a line of the trace matches PATTERN
traced() {
	result "$1" "$(grep -q "$2" lines || { echo "expected a line like: $2; found:" && cat lines; })"
}

# watch COMMAND... - run it, and store the lines that were traced in the file "lines"
watch() {
	echo >$tracing/trace
	"$@" >/dev/null 2>&1
	grep hashbelt_ $tracing/trace >lines
}

belt() {
	./hbctl -b traced "$@"
}

[ -d $tracing/events ] || mount -t tracefs tracefs $tracing || exit 1
./hbctl create traced --ttl 1m --max-entries 2 --when-full evict || exit 1
belt halt
id=$(./hbctl --json info traced | sed 's/.*"id": *\([0-9]*\).*/\1/')
echo 1 >$tracing/events/hashbelt/enable

# Keys are in hexadecimal: a is 61, b is 62, c is 63.
watch belt put a 12345
traced "a put is traced with key, length and version" "hashbelt_put: belt=$id key=61 value_len=5 version=[1-9][0-9]* err=0"
watch belt put a 1 --if-absent
traced "a put that is refused is traced with its errno" "hashbelt_put: belt=$id key=61 value_len=1 version=0 err=-17"
watch belt get a
traced "a get that finds an entry is traced as a hit" "hashbelt_get: belt=$id key=61 hit=1 version=[1-9][0-9]* gone=0"
watch belt get nothere
traced "a get that finds no entry is traced as a miss" "hashbelt_get: belt=$id key=6e6f7468657265 hit=0 version=0 gone=0"
# An entry that was read would stay.
belt rm a
belt put a 12345
belt put b 2 --ttl 1h
watch belt put c 3
traced "an eviction is traced with key, version and deadline" "hashbelt_evict: belt=$id key=61 version=[1-9][0-9]* deadline_ns=[1-9][0-9]* reason=2"
watch belt advance 2m
traced "an expiry is traced with how late it is" "hashbelt_expire: belt=$id key=63 version=[1-9][0-9]* late_ns=60000000000"
traced "a rotation is traced with shard and buckets" "hashbelt_rotate: belt=$id shard=[0-9]* buckets=1 now_ns=[1-9][0-9]*"
traced "a drain is traced with expired and cascaded entries" "hashbelt_drain: belt=$id shard=[0-9]* expired=1 cascaded=0"
watch belt expire b
traced "an expire call before the deadline is traced with a negative lag" "hashbelt_expire: belt=$id key=62 version=[1-9][0-9]* late_ns=-[1-9][0-9]*"

./hbctl create other --ttl 1m
watch ./hbctl set traced --ttl 2m
traced "a set is traced with the belt's name" "hashbelt_manage: call=set uid=0 err=0 name=traced"
watch ./hbctl -b nothere info
traced "an open that fails is traced with its errno" "hashbelt_manage: call=open uid=0 err=-2 name=nothere"
watch ./hbctl create other --ttl 1m
traced "a create that fails is traced with its errno" "hashbelt_manage: call=create uid=0 err=-17 name=other"
watch ./hbctl destroy other
traced "a destroy is traced with the belt's name" "hashbelt_manage: call=destroy uid=0 err=0 name=other"
./hbctl set traced --mode 644
chmod 666 /dev/hashbelt
watch su -s /bin/sh nobody -c "$PWD/hbctl -b traced put a 1"
chmod 600 /dev/hashbelt
traced "a put without the right to write is traced as denied" "hashbelt_denied: uid=65534 needs=0x2 access=0x[0-9a-f]* name=traced"

# perf(1) and trace-cmd(1) read records after the event, so they print a pointer as a number.
grep 'field:[^;]*[*]' $tracing/events/hashbelt/hashbelt_*/format >lines || echo none >lines
traced "no field of a trace point is a pointer" "^none$"
for event in put get expire evict rotate drain; do
	cat $tracing/events/hashbelt/hashbelt_$event/format >lines
	traced "the trace point hashbelt_$event has a format with the field belt" "field:u64 belt;"
done

echo 0 >$tracing/events/hashbelt/enable
./hbctl destroy traced
rm -f lines
finish
