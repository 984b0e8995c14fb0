#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# incr.t - hbctl incr: sums, what they begin with, how long they last, and that no
# addition is lost.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

plan 70
# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

max=9223372036854775807
min=-9223372036854775808

# left KEY - milliseconds that it has.
left() {
	on has "$1" --json | sed 's/.*"ttl_ms":\([a-z0-9]*\).*/\1/'
}

belt main --ttl 5m --buckets 6

# What is added
is 'what is not there counts as 0' 0 1 '' on incr k
is 'a second incr adds to the first' 0 2 '' on incr k
value 'the value is the sum in decimal' 2 on get k
is 'a number is added' 0 44 '' on incr k 42
is 'a negative number' 0 39 '' on incr k -5
is 'a negative number behind --' 0 34 '' on incr k -- -5
is 'a negative number before options' 0 -66 '' on incr k -100 --ttl 1s --initial -3
is 'nothing is added' 0 -66 '' on incr k 0
value 'a negative sum' -66 on get k
json 'JSON' 0 '{"key":"k","sum":-65}' '' on incr k --json
json 'JSON of the least' 0 "{\"key\":\"least\",\"sum\":$min}" '' on incr least $min --json
json 'JSON of what is no text' 0 '{"key_base64":"/w==","sum":1}' '' \
	on incr "$(printf '\377')" --json
is 'an escaped key' 0 1 '' on incr -e 'x\ty'
value 'it was one' 1 on get "$(printf 'x\ty')"
is 'a key that begins with a dash' 0 -5 '' on incr -- -k -5
value 'it is no number' -5 on get -- -k

# What a put has left there
on put k 41
is 'a number that was put' 0 42 '' on incr k
on put -- k -1
is 'a negative one' 0 1 '' on incr k 2
on put k 007
is 'one with zeros in front' 0 8 '' on incr k
for text in '' - x 1x ' 1' '1 ' +1 0x10 1.5 --1 -x 12345678901234567890; do
	printf '%s' "$text" | on put k -
	is "'$text' is no number" 1 '' "entry 'k' in belt 'main' is not a number" on incr k
	value "'$text' stays when incr fails" "$text" on get k
done

# Bounds
on put k $((max - 1))
is 'the largest sum' 0 $max '' on incr k
is 'one more' 1 '' "entry 'k' in belt 'main' would be more than 64 bits can hold: *" \
	on incr k
value 'changes nothing' $max on get k
on put -- k $min
is 'one less than the least' 1 '' "entry 'k' in belt 'main' would be more *" on incr k -1
value 'changes nothing either' $min on get k
is 'from end to end' 0 -1 '' on incr k $max
is 'too much to begin with' 1 '' "entry 'none' in belt 'main' would be *" \
	on incr none --initial $max
is 'makes no entry' 1 '' "there is no entry 'none' in belt 'main'" on get none

# What it begins with
is 'it begins with --initial' 0 101 '' on incr i --initial 100
is '--initial does nothing where the key is there' 0 102 '' on incr i --initial 100
is 'it begins below 0' 0 -8 '' on incr j -3 --initial -5

# How long it lasts
is 'a window' 0 1 '' on incr w --ttl 1m
result 'has the time-to-live that was asked for' "$([ "$(left w)" = 60000 ] || left w)"
on advance 20s
is 'one more in it' 0 2 '' on incr w --ttl 1m
result 'leaves it the time that it has left' "$([ "$(left w)" = 40000 ] || left w)"
on advance 40s
is 'it begins anew when the time is over' 0 1 '' on incr w --ttl 1m
is 'as long as the belt says' 0 1 '' on incr d
result 'it has that' "$([ "$(left d)" = 300000 ] || left d)"
is 'for ever' 0 1 '' on incr e --ttl never
result 'it never ends' "$([ "$(left e)" = null ] || left e)"

# It is a put.
v=$(version_of e)
on incr e >/dev/null
is 'it makes a new version' 1 '' "entry 'e' in belt 'main' has version *, not $v: *" \
	on put e 7 --if-version "$v"
belt count
on incr a >/dev/null
on incr a >/dev/null
on put b x
on incr b 2>/dev/null
like 'stat: additions that were done' 0 '*
adds: 2
*' '' on stat
belt full --max-entries 1
on incr a >/dev/null
is 'no room for another' 4 '' "belt 'full' is full: *" on incr b
is 'room for what is there' 0 2 '' on incr a
chmod 666 /dev/hashbelt
hbctl create shown --mode 0644
is 'nobody: no right to add' 3 '' "no right to read and write belt 'shown': *" \
	nobody -b shown incr k
chmod 600 /dev/hashbelt

# Many at once
belt many
for process in 1 2 3 4 5 6 7 8; do
	(
		for by in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			on incr k "$by"
			on incr k "-$by"
			on incr k
		done >/dev/null
	) &
done
wait
value 'no addition is lost' 160 on get k
belt each
for process in 1 2 3 4 5 6 7 8; do
	(
		until [ "$(on incr k | tee -a "$temporary/sums.$process")" -ge 160 ]; do
			:
		done
	) &
done
wait
cat "$temporary"/sums.* | sort -n >"$temporary/out"
seq 1 167 >"$temporary/wanted"
result 'no two have the same sum' "$(same)"
finish
