#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# watch.t - hbctl watch prints each put of its keys, and that an entry has gone, and takes no event
# from other readers.
# shellcheck disable=SC2046,SC2317 # words; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

tab=$(printf '\t')

# begin REQUESTS ARGUMENT... - run watch in the background, until it has so many requests
begin() {
	requests=$1
	shift
	hbctl -b "$belt" watch "$@" >"$temporary/seen" 2>"$temporary/seen.err" &
	watcher=$!
	at_last holds requests "$requests" || echo "Bail out! nothing watches"
}

# sees NAME LINES - the watch has printed these lines, at the latest after 30 s
sees() {
	want "$2"
	at_last seen_all
	result "$1" "$(same)"
}

seen_all() {
	cp "$temporary/seen" "$temporary/out" && normalize "$temporary/out" &&
		cmp -s "$temporary/wanted" "$temporary/out"
}

# ends NAME STATUS ERR - the watch ends with STATUS
ends() {
	end "$watcher"
	cp "$temporary/seen.err" "$temporary/err"
	result "$1" "$(check_status "$2"; check_error "$3")"
}

# Without a look at intervals
belt main --ttl 1m --on-expire notify --report all
on put a 1
begin 1 a b --interval 1d
sees 'watch first prints the entries that are present' "a${tab}1"
on put b 'two
lines'
sees 'watch prints a put of one of its keys, escaped' "a${tab}1
b${tab}two\\nlines"
on put c 3
on incr a >/dev/null
sees 'watch prints an addition, and no put of another key' "a${tab}1
b${tab}two\\nlines
a${tab}2"
on complete b >/dev/null
on put b 4
sees 'watch goes on after complete' "a${tab}1
b${tab}two\\nlines
a${tab}2
b${tab}4"
on clear
sees 'watch prints that entries were cleared' "a${tab}1
b${tab}two\\nlines
a${tab}2
b${tab}4
a
b"
kill "$watcher"
ends 'a signal ends watch' 143 ''
at_last holds requests 0
result 'the requests of watch end with it' "$(holds requests 0 || on info --json)"
is 'watch takes no event from other readers' 0 5 '' sh -c "hbctl -b main events | wc -l"

# With a look at intervals
belt gone --ttl 1m
on put a 1
begin 1 a b --interval 10ms --json
sees 'watch --json prints the entry, and that it is present' \
	'{"key":"a","version":N,"flags":0,"ttl_ms":60000,"value_len":1,"value":"1","present":true}'
on rm a
sees 'watch --json prints that an entry was removed' \
	'{"key":"a","version":N,"flags":0,"ttl_ms":60000,"value_len":1,"value":"1","present":true}
{"key":"a","present":false}'
kill "$watcher"
end "$watcher"
on put a 1
begin 1 a --interval 10ms
# The request is there before watch has looked at the entry.
at_last test -s "$temporary/seen"
on advance 1m
sees 'watch prints the key alone of an entry that has expired' "a${tab}1
a"
on put a 2
sees 'watch prints a put of a key whose entry had expired' "a${tab}1
a
a${tab}2"
hbctl destroy gone
ends 'watch of a belt that is destroyed exits with 3' 3 "belt 'gone' was destroyed: *"

# More keys than one request can have
belt many --policy updating
begin 3 $(seq 1 40) --max 3 --interval 1d
on put 40 x
on put 16 y
sees 'watch prints puts of 40 keys' "40${tab}x
16${tab}y"
on put 17 z
ends 'watch --max exits with 0 after so many changes' 0 ''
sees 'watch --max prints the last change' "40${tab}x
16${tab}y
17${tab}z"
on advance 1m
is 'watch --max ends at once if enough entries are present' 0 "16${tab}y
17${tab}z" '' on watch 16 17 --max 2
json 'watch does not renew an entry' 0 \
	'{"key":"16","version":N,"flags":0,"ttl_ms":240000,"value_len":1,"present":true}' '' \
	on has 16 --json
is 'watch ends when the reader of its output does' 0 "16${tab}y" '' \
	sh -c 'hbctl -b many watch 16 --interval 1d | head -n 1'
hbctl create readable --mode 0644
chmod 666 /dev/hashbelt
is 'user nobody: watch without the right to write exits with 3' 3 '' \
	"no right to * belt 'readable': *" nobody -b readable watch a
chmod 600 /dev/hashbelt
belt full --max-entries 1
on put a 1
is 'watch of a full belt exits with 4' 4 '' "belt 'full' is full: *" on watch b
hbctl create evicting --max-entries 1 --when-full evict
belt=evicting
begin 1 a
on put b 1
ends 'watch whose request is evicted exits with 4' 4 "the watch had to make room: *"
finish
