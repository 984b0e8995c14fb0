#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# top.t - hbctl top, on a terminal of its own and without one.
#
# The module is removed and loaded again first, so that there are only the belts of this
# test. top reads them when a key is pressed, and not as time passes.
# shellcheck disable=SC2317 # functions that tap.sh calls
set -u
unset CDPATH

if ! rmmod hashbelt || ! insmod hashbelt.ko; then
	echo "Bail out! cannot load the module anew"
	exit 1
fi
# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"
# shellcheck source=tests/hbctl/screen.sh
. "$(dirname "$0")/screen.sh"

TERMINFO=$(cd "$(dirname "$0")/../.." && pwd)/terminfo
export TERMINFO TERM=vt100
unset COLUMNS LINES

# entries NUMBER - put so many entries
entries() {
	seq "$1" | sed 's/$/\tvalue/' | on load 2>/dev/null
}

# still FILE - print it with N for what differs between runs: time of day and memory
still() {
	sed 's/ [0-9][0-9]:[0-9][0-9]:[0-9][0-9] / N /
		s/\(entr[a-z]*, \)[0-9.]*[BkM]; the .*)/\1N/
		s/^\([^ ]* *[0-9][0-9]*\) *[0-9.]*[BkM] /\1 N /' "$1"
}

# top STEP... - what hbctl top shows; it reads the belts at the start and on the space key
# only
top() {
	top_status=0
	screen "$@" -- hbctl top --interval 1h >"$temporary/screen" || top_status=$?
	still "$temporary/screen"
	return "$top_status"
}

# belts STEP... - as top, but only the names of the belts, one a line
belts() {
	top "$@" >"$temporary/top" || return
	sed '1,3d; /^$/d; /^q quit/d; /^modes/d; s/ .*//' "$temporary/top"
}

# once OPTION... - as top, with --once and without a terminal
once() {
	hbctl top --once --interval 10ms "$@" >"$temporary/once" || return
	still "$temporary/once"
}

# table WIDTH RATE - headings and belts, with names cut to WIDTH columns and RATE in rates
table() {
	printf "%-$1.$1s %s\n" \
		NAME    'ENTRIES BYTES LIM% GET/S HIT% PUT/S EXP/S EVI/S QUEUE   LAG STATE' \
		alpha   "     30 N 75.0     $2    -     $2     $2     $2     0     - H" \
		default "      0 N    -     $2    -     $2     $2     $2     0     -" \
		events  "      0 N    -     $2    -     $2     $2     $2     3    1m H" \
		full    "      2 N  100     $2    -     $2     $2     $2     0     - HF" \
		"$long" "      0 N    -     $2    -     $2     $2     $2     0     - PH" \
		'odd\xff' "      1 N    -     $2    -     $2     $2     $2     0     - H" |
		sed 's/^\(k\{13\}\)k /\1~ /'
}

# words - the table with states in words instead of letters
words() {
	sed 's/ PH$/ pinned,halted/; s/ HF$/ halted,full/; s/ H$/ halted/'
}

# page WIDTH LINES LAST - a screen of LINES lines, of which LAST is the last
page() {
	echo "hbctl top  N  every 1h, by NAME"
	echo "6 belts, 33 entries, N"
	table "$1" -
	yes '' | head -n $(($2 - 10))
	echo "$3"
}

belt alpha --max-entries 40
entries 30
belt events --on-expire notify --ttl 10s
entries 3
on advance 1m
belt full --max-entries 2
entries 2
long=$(text 63)
belt "$long" --pinned
odd=$(printf 'odd\377')
belt "$odd"
entries 1

# 80 columns and 24 lines
ready='q quit  s sort'
keys="$ready  arrows scroll  space pause  h columns"
legend='LIM% of the limit  LAG of 99%  STATE Pinned Halted Full Window  h keys'
left='modes as before, cursor visible'
is 'top shows all belts' 0 "$(page 14 24 "$keys")
$left" '' top see "$ready" print type q end
like 'top shows the memory of the module' 0 \
	'*6 belts, 33 entries, [1-9]*; the module uses [1-9]* of [1-9]* ([0-9]*.[0-9]%)*' '' \
	screen see "$ready" print type q end -- hbctl top --interval 1h
is 'keys h and ? of top show and hide what the columns mean' 0 "$(page 14 24 "$legend")
$(page 14 24 "$keys")
$left" '' top see "$ready" type h see 'h keys' print type '?' see "$ready" print type q end
ctrl_l=$(printf '\f')
is 'ctrl-l makes top draw the screen anew' 0 "$(page 14 24 "$keys")
$left" '' top see "$ready" type "${ctrl_l}h" see 'h keys' type h see "$ready" print type q end

# Other terminals and sizes
TERM=linux
is 'top follows a Linux console that becomes larger' 0 "$(page 63 50 "$keys")
$left" '' top see "$ready" size 132x50 see "$long" print type q end
TERM=vt100
is 'top follows a terminal that becomes smaller' 0 "$(page 14 24 "$keys")
$left" '' top size 132x50 see "$long" size 80x24 see 'kkk~ ' print type q end
is 'top shows states as words on 149 columns' 0 "$(page 63 24 "$keys" | words)
$left" '' top size 149x24 see "$ready" print type q end
like 'top cuts lines to a terminal of 24x5' 0 "hbctl top  *~
6 belts, 33 entries, ?*~
NAME     ENTRIES BYTES ~
alpha         30 *~
q quit  s sort  arrows ~
$left" '' top see "$ready" size 24x5 see 'arrows ~' print type q end
is 'top runs on a terminal of 2x1' 0 "$left" '' \
	top see "$ready" size 5x4 see 'q qu~' size 2x1 see 'q~' type q end

# Ends of top
ctrl_c=$(printf '\003')
is 'ctrl-c ends top and restores the terminal' 0 "$left" '' top see "$ready" type "$ctrl_c" end
is 'SIGTERM ends top and restores the terminal' 0 "$left" '' top see "$ready" signal 15 end
is 'SIGHUP ends top and restores the terminal' 0 "$left" '' top see "$ready" signal 1 end
is 'top ends with its terminal' 0 '' '' top see "$ready" hangup
is 'top that ignores SIGHUP ends with its terminal' 0 '' '' \
	screen see "$ready" hangup -- sh -c 'trap "" HUP && exec hbctl top --interval 1h'

# Sorting
is 'top sorts by entries' 0 'alpha
full
odd\xff
default
events
kkkkkkkkkkkkk~' '' belts see "$ready" type s see 'by ENTRIES' print type q end
is 'top sorts by name again after all other columns' 0 'alpha
default
events
full
kkkkkkkkkkkkk~
odd\xff' '' belts see "$ready" type S see 'by STATE' type s see 'by NAME' print type q end

# Changes between two reads of the belts
cat >"$temporary/gets" <<'END'
for key in 1 2 3; do
	hbctl -b alpha get $key || exit
done >/dev/null
! hbctl -b alpha get none 2>/dev/null
END
belt=alpha
like 'top shows rates of hits and misses between two looks' 0 \
	"*alpha  *[0-9] N 75.0  *[0-9] 75.0     0     0     0     0     - H*" '' \
	top see "$ready" type ' ' see ', paused' run "sh $temporary/gets" \
	type ' ' lose ', paused' print type q end
like 'top shows the rate of puts, and FULL no more after a remove' 0 \
	"*alpha *31 N 77.5     0    -  *[0-9]     0     0     0     - H*full *1 N 50.0     0 *" '' \
	top see "$ready" type ' ' see ', paused' \
	run 'hbctl -b alpha put x 1 && hbctl -b full rm 1' type ' ' lose ', paused' print type q end
is 'top shows a new belt and hides a destroyed one' 0 'alpha
default
events
full
kkkkkkkkkkkkk~
new' '' belts see "$ready" type ' ' see ', paused' \
	run "hbctl destroy '$odd' && hbctl create new" type ' ' see new print type q end
hbctl destroy new

# More belts than lines
for number in $(seq -w 1 30); do
	belt "b$number"
done
# names FIRST LAST - the names of these belts
names() {
	seq -w "$1" "$2" | sed 's/^/b/'
}
is 'top shows the first 20 of more belts than lines' 0 "alpha
$(names 01 19)" '' belts see '  1-20' print type q end
up=$(printf '\033OA') down=$(printf '\033OB')
is 'arrow keys scroll top down and up' 0 "$(names 02 21)" '' belts see '  1-20' type \
	"$down$down$down" see '  4-23' type "$up" see '  3-22' print type q end
is 'key j scrolls top no further than the last belt' 0 "$(names 15 30)
default
events
full
kkkkkkkkkkkkk~" '' belts see '  1-20' type jjjjjjjjjjjjjjjjjjjjjjjjjj see '  16-35' print type q end
is 'key k scrolls top no further than the first belt' 0 "alpha
$(names 01 19)" '' belts see '  1-20' type jjj see '  4-23' type kkkkk see '  1-20' print type q end
page_down=$(printf '\033[6~')
TERM=linux
is 'page down scrolls top by a page' 0 "$(names 15 30)
default
events
full
kkkkkkkkkkkkk~" '' belts see '  1-20' type "$page_down" see '  16-35' print type q end
is 'top shows the remaining belts when belts above were destroyed' 0 "alpha
$(names 01 14)
default
events
full
kkkkkkkkkkkkk~" '' belts see '  1-20' type "$page_down" see '  16-35' type ' ' see ', paused' \
	run "seq 15 30 | sed s/^/b/ | xargs -n 1 hbctl destroy" \
	type ' ' lose '  16-35' print type q end
TERM=vt100
for number in $(seq -w 1 14); do
	hbctl destroy "b$number"
done

# Terminals that top cannot use
for TERM in vt999 dumb; do
	is "top on the terminal $TERM exits with 4" 4 "$left" \
		"cannot use the terminal '$TERM': set TERM, or use --once" screen end -- hbctl top
done
TERM=
is 'top with an empty TERM exits with 4' 4 "$left" 'TERM is not set: set it, or use --once' \
	screen end -- hbctl top
unset TERM
is 'top without TERM exits with 4' 4 "$left" 'TERM is not set: set it, or use --once' \
	screen end -- hbctl top
export TERM=vt100
is 'top without a terminal exits with 2' 2 '' 'top: stdin or stdout is no terminal: use --once *' \
	hbctl top
is 'top without a device exits with 3' 3 "$left" 'there is no device /nonexistent: *' \
	screen end -- hbctl -D /nonexistent top
is 'top --interval 25h exits with 2' 2 '' 'top: --interval: 25h is not from 10ms to 1d *' \
	hbctl top --once --interval 25h

# Without a terminal
belt "$odd"
entries 1
on halt
hbctl -b full put 1 value
TERM=vt999
is 'top --once prints all belts without a terminal' 0 "hbctl top  N  every 10ms, by NAME
6 belts, 34 entries, N
$(table 63 0 | sed 's/30 N 75.0/31 N 77.5/' | words)" '' once
rates='"gets_per_second":0,"hit_percent":null,"puts_per_second":0'
rates=$rates',"expired_per_second":0,"evicted_per_second":0'
# object NAME ENTRIES LIMIT QUEUED LAG PINNED HALTED FULL - the JSON of a belt
object() {
	echo "{$1,\"entries\":$2,\"bytes\":N,\"limit_percent\":$3,$rates,\"queued\":$4," \
		"\"lag_ms\":$5,\"pinned\":$6,\"halted\":$7,\"full\":$8,\"window\":${9-false}}" | tr -d ' '
}
json 'top --json prints an object for each belt' 0 \
	"$(object '"name":"alpha"' 31 77.5 0 null false true false
	object '"name":"default"' 0 null 0 null false false false
	object '"name":"events"' 0 null 3 65536 false true false
	object '"name":"full"' 2 100 0 null false true true
	object "\"name\":\"$long\"" 0 null 0 null true true false
	object '"name_base64":"b2Rk/w=="' 1 null 0 null false true false)" '' \
	hbctl --json top --interval 10ms
valid 'top --json prints valid JSON' hbctl top --json --interval 10ms
chmod 666 /dev/hashbelt
belt readable --mode 0604
belt writable --mode 0602
like 'user nobody: top --once lists readable belts only' 0 '*
1 belt, 0 entries, *
NAME *
readable *0 *' '' nobody top --once --interval 10ms
finish
