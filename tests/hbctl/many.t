#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# many.t - the commands of hbctl on many entries at once, as root.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

plan 26
# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

# screen_of COMMAND... - the progress that the command leaves on a terminal with 80 columns
# shellcheck disable=SC2317 # called by like
screen_of() {
	# shellcheck disable=SC2016,SC2033 # the inner shell expands it, and runs a program
	screen end print -- sh -c 'exec "$@" 2>&1' sh "$@" | sed -n 's/ entries#*$/ entries/p'
}

# rm --prefix, rm --match
belt alike
fill_alike() {
	awk 'BEGIN {
		for (i = 0; i < 3; i++)
			printf "user/%d\t%d\ntmp/%d\t%d\n", i, i, i, i
		print "a\\x00b\t1"
		print "a*b\t1"
	}' | on load 2>/dev/null
}
fill_alike
on rm --prefix tmp/ --dry-run | sort >"$temporary/out"
printf 'tmp/%d\n' 0 1 2 >"$temporary/wanted"
result 'rm --prefix --dry-run lists the keys with this prefix' "$(same)"
is 'rm --dry-run removes nothing' 0 8 '' on size
json 'rm --dry-run --json prints the entries' 0 \
	'{"key":"user/1","version":N,"flags":0,"ttl_ms":300000,"value_len":1}' '' \
	on rm --match '*/1' --prefix user --dry-run --json
is 'rm --prefix prints the number of removed entries' 0 3 '' on rm --prefix tmp/
is 'rm --prefix removes the entries with this prefix, and no others' 0 5 '' on size
is 'rm --prefix without a match prints 0' 0 0 '' on rm --prefix tmp/
is 'rm --match --json prints the number of removed entries' 0 '{"removed":2}' '' \
	on rm --match 'user/[01]' --json
is 'rm --match compares the whole key' 0 0 '' on rm --match 'ser/2'
is 'a * of rm --match matches a slash' 0 1 '' on rm --match 'u*2'
is 'rm --match matches no key with a NUL byte' 0 1 '' on rm --match 'a*b'
is 'rm --match does not stop at a NUL byte of the key' 0 0 '' on rm --match 'a*'
is 'rm -e --prefix takes an escaped prefix' 0 1 '' on rm -e --prefix 'a\x00'
fill_alike
is 'a backslash takes the meaning from a * of rm --match' 0 1 '' on rm --match 'a\*b'
is 'rm --prefix --match removes the entries that fit both' 0 1 '' \
	on rm --prefix user/ --match '*1'
is 'del is rm also with --prefix' 0 2 '' on del --prefix user/
is 'rm --prefix that is longer than any key removes nothing' 0 0 '' on rm --prefix "$(text 1025)"
on clear
hbctl create readable --mode 0644
hbctl -b readable put a 1
hbctl create writable --mode 0622
chmod 666 /dev/hashbelt
for name in readable writable; do
	is "user nobody: rm --prefix on a $name belt exits with 3" 3 '' \
		"rm --prefix and --match take the right to read and to write belt '$name'" \
		nobody -b $name rm --prefix a
done
is 'user nobody: rm --prefix --dry-run on a readable belt lists the keys' 0 a '' \
	nobody -b readable rm --prefix a --dry-run
is 'user nobody: rm --prefix --dry-run on a belt that only may be written to exits with 3' 3 '' \
	"rm --prefix and --match take the right to read and to write belt 'writable'" \
	nobody -b writable rm --prefix a --dry-run
chmod 600 /dev/hashbelt

# 100,000 entries: more than fit into a batch or into one buffer of a scan
awk 'BEGIN {
	for (i = 0; i < 100000; i++)
		printf "number/%d\t%d\n", i, i
	print "other\t1"
}' >"$temporary/lines"
on load "$temporary/lines" 2>/dev/null
is 'rm --prefix --dry-run lists 100000 keys' 0 100000 '' \
	sh -c "hbctl -b alike rm --prefix number/ --dry-run | sort -u | wc -l"
is 'rm --prefix removes 100000 entries' 0 100000 '' on rm --prefix number/
is 'rm --prefix of 100000 entries keeps another one' 0 other '' on keys
on load "$temporary/lines" 2>/dev/null
is 'rm --match removes 100000 entries' 0 100000 '' on rm --match 'n*/*'
is 'rm on a terminal draws a bar for the entries that it has looked at' 0 \
	'[########################################] 100%  1 entries' '' \
	screen_of hbctl -b alike rm --prefix other
head -n 1000 "$temporary/lines" >"$temporary/some"
is 'load on a terminal draws a bar for the bytes that it has read' 0 \
	'[########################################] 100%  1000 entries' '' \
	screen_of hbctl -b alike load "$temporary/some"
finish
