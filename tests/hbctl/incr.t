#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# incr.t - hbctl incr: its arguments and messages. Sums: tests/conformance, add.json.
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

max=9223372036854775807

belt main --ttl 5m --buckets 6

# Sums
is 'incr of a missing key counts from 0' 0 1 '' on incr k
is 'incr takes a negative number after --' 0 -4 '' on incr k -- -5
is 'incr takes a negative number before options' 0 -104 '' on incr k -100 --ttl 1s --initial -3
json 'incr --json prints key and sum' 0 '{"key":"k","sum":-103}' '' on incr k --json
json 'incr --json prints a key that is not UTF-8 in base64' 0 '{"key_base64":"/w==","sum":1}' '' \
	on incr "$(printf '\377')" --json
is 'incr -e takes an escaped key' 0 1 '' on incr -e 'x\ty'
is 'incr takes a key with a dash after --, and a number after it' 0 -5 '' on incr -- -k -5

# Values that put has stored
echo 5 | on put k
is 'incr of a number with a newline names the newline' 1 '' \
	"entry 'k' in belt 'main' is not a number: a newline is at its end, *" on incr k
echo x | on put k
is 'incr of a text with a newline exits with 1: not a number' 1 '' \
	"entry 'k' in belt 'main' is not a number" on incr k

# Bounds
is 'incr of a missing key beyond 2^63 - 1 says that it was not put' 1 '' \
	"entry 'absent' in belt 'main' would be more than 64 bits can hold, *: it was not put" \
	on incr absent 1 --initial $max
on put k $max
is 'incr beyond 2^63 - 1 exits with 1' 1 '' \
	"entry 'k' in belt 'main' would be more than 64 bits can hold: *" on incr k

# Initial values
is 'incr takes a negative --initial' 0 -8 '' on incr j -3 --initial -5

# Least sums
on put n 3
is 'incr --min 0 stops at 0' 0 0 '' on incr n -4 --min 0
on put n -- -7
is 'incr --min leaves a smaller number as it is' 1 '' \
	"entry 'n' in belt 'main' is less than --min: *" on incr n 5 --min 0
is 'incr --min with --initial below it exits with 2' 2 '' '*--initial is less than --min*' \
	on incr m3 --min 5 --initial 4
is 'incr --min of a text exits with 2' 2 '' "*--min: 'x' is not a number*" on incr m3 --min x
on put x -- x
is 'incr --min of a text that is no number says so' 1 '' \
	"entry 'x' in belt 'main' is not a number" on incr x --min 0

# Present entries only
is 'incr --if-present of a missing key exits with 1' 1 '' \
	"there is no entry 'gone' in belt 'main'" on incr gone -1 --if-present
is 'incr --if-present with --initial exits with 2' 2 '' '*which --if-present does not make*' \
	on incr gone --if-present --initial 1
is 'incr --if-present with --ttl exits with 2' 2 '' '*which --if-present does not make*' \
	on incr gone --if-present --ttl 1m
on put m 3
is 'incr --if-present --min 0 is the decr of memcached' 0 0 '' on incr m -9 --if-present --min 0

# Limits and rights
belt full --max-entries 1
on incr a >/dev/null
is 'incr of a missing key on a belt at max_entries exits with 4' 4 '' "belt 'full' is full: *" \
	on incr b
chmod 666 /dev/hashbelt
hbctl create shown --mode 0644
is 'user nobody: incr on a belt of mode 0644 exits with 3' 3 '' \
	"no right to read and write belt 'shown': *" nobody -b shown incr k
chmod 600 /dev/hashbelt

finish
