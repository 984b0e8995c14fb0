#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# table.t - the tables of hbctl: columns, headings, and the width of the terminal.
# shellcheck disable=SC1003,SC2033,SC2086,SC2317 # backslashes; words; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"
# shellcheck source=tests/hbctl/screen.sh
. "$(dirname "$0")/screen.sh"

# named BELT... - print the rows of these belts, and the line of headings
named() {
	awk -v names="NAME $*" 'BEGIN { split(names, list); for (i in list) wanted[list[i]] }
		$1 in wanted' "$temporary/out" >"$temporary/rows"
	mv "$temporary/rows" "$temporary/out"
}

# rows NAME WANTED BELTS COMMAND... - the rows of the belts, of a table that a command prints
rows() {
	name=$1 belts=$3
	want "$2"
	shift 3
	run "$@"
	[ -z "$belts" ] || named $belts
	result "$name" "$(check_status 0; same; check_error '')"
}

belt small --ttl 90s --max-entries 7
belt wide --ttl 1h --buckets 12 --when-full evict --pinned
on put key value

# Columns
rows 'belts -o prints these columns in this order' 'ENTRIES  NAME       TTL
      0  small    1m30s
      1  wide        1h' '' sh -c 'hbctl belts -o entries,name,ttl | grep -v default'
rows 'belts -o takes names of columns in small letters and capitals' 'NAME     BUCKETS
small          3
wide          12' 'small wide' hbctl belts -o Name,BUCKETS
rows 'belts -o takes a column twice' 'NAME     NAME
small    small' small hbctl belts -o name,name
rows 'belts -o + adds columns to the default' \
	'NAME  ENTRIES MEMORY TTL BUCKETS POLICY MODE OWNER CLOCK EVENTS MAX-ENTRIES PINNED WHEN-FULL
small 0 3 0600 halted 7 no reject
wide 1 12 0600 halted none yes evict' '' sh -c "hbctl belts -o +MAX-ENTRIES,pinned,when-full | awk '
		/^NAME/ { \$1 = \$1; sub(/ /, \"  \"); print }
		/^(small|wide)/ { print \$1, \$2, \$6, \$8, \$10, \$12, \$13, \$14 }'"
rows 'belts --noheadings prints no headings' 'small    1m30s
wide        1h' 'small wide' hbctl belts --noheadings -o name,ttl
rows 'belts --raw separates words by single blanks' 'NAME TTL BUCKETS
small 1m30s 3
wide 1h 12' 'small wide' hbctl belts --raw -o name,ttl,buckets
is 'info -o prints the belt as a row' 0 'NAME     TTL
small  1m30s' '' hbctl info small -o name,ttl
like 'info --noheadings prints the default columns of belts' 0 \
	'small * 0 * 1m30s * 3  timecache  0600  0:0 *halted *-' '' hbctl info small --noheadings
is 'an unknown column exits with 2, and the message lists the columns' 2 '' \
	"locks: -o: there is no column 'size', only TOKEN, HELD, LEFT, OWNER, NAME, BOUND *" \
	hbctl locks -o token,size
is 'an empty column exits with 2' 2 '' "keys: -o: there is no column '', only KEY, *" \
	hbctl keys -o key,,ttl
is 'belts -o with an empty list exits with 2' 2 '' "belts: -o: there is no column '', only *" \
	hbctl belts -o ''
is 'belts -o + exits with 2' 2 '' "belts: -o: there is no column '', only NAME, *" hbctl belts -o +
for command in belts info stat locks keys events 'top --once'; do
	is "$command --raw --json exits with 2" 2 '' \
		"${command%% *}: -o, --noheadings and --raw are for tables, not for --json *" \
		hbctl $command --raw --json
done
is 'stat --raw --prometheus exits with 2' 2 '' \
	'stat: -o, --noheadings and --raw are for tables, not for --prometheus *' \
	hbctl stat --raw --prometheus
is 'top -o without --once exits with 2' 2 '' 'top: -o, --noheadings and --raw need --once *' \
	hbctl top -o name

# stat
is 'stat -o prints counters and their meaning' 0 'puts_new Puts\x20of\x20an\x20absent\x20key' \
	'' sh -c 'hbctl stat wide --raw -o counter,help | grep ^puts_new'
hbctl stat --all --raw --noheadings >"$temporary/all"
is 'stat --all --raw begins each row with the name of the belt' 0 'default entries 0
small entries 0
wide entries 1' '' grep ' entries ' "$temporary/all"
like 'stat prints numbers to the right' 0 'COUNTER             VALUE
hits                    0
*
puts_new                1
*
max_entries          none
*' '' hbctl stat wide

# keys and events
belt many --on-expire notify --report all
on put b 22 --ttl 90s --flags 7
on put a 1
is 'keys without an option prints keys alone' 0 'a
b' '' sh -c 'hbctl -b many keys | sort'
is 'keys -o prints a table' 0 'KEY  SIZE    TTL  FLAGS
b       2  1m30s      7' '' sh -c 'hbctl -b many keys -o key,size,ttl,flags | grep -v ^a'
is 'keys PREFIX --raw --noheadings prints these keys' 0 'b 2 1m30s 7' '' \
	on keys b --raw --noheadings -o key,size,ttl,flags
is 'keys -o on a belt without such keys prints nothing' 0 '' '' on keys x -o key
tab=$(printf '\t')
on put "t${tab}b\\" 1
is 'keys -o escapes control characters and backslashes' 0 'KEY
t\tb\\' '' on keys t -o key
is 'keys --raw writes blanks and backslashes as \xHH' 0 't\x5ctb\x5c\x5c' '' \
	on keys t --raw --noheadings -o key
on put 'grün ß' 1
is 'keys -o writes UTF-8 as \xHH where no locale of UTF-8 is installed' 0 'KEY                   SIZE
gr\xc3\xbcn \xc3\x9f     1' '' on keys gr -o key,size
on put "$(printf 'no\377\200')" 1
is 'keys -o writes bytes that are no UTF-8 as \xHH' 0 'KEY         SIZE
no\xff\x80     1' '' on keys no -o key,size
on clear
on events >"$temporary/old"
on put a one
on rm a
on put b two
on put b three
is 'events -o prints a table' 0 'REASON    KEY  VALUE  SIZE
removed   a    one       3
replaced  b    two       3' '' on events -o reason,key,value,size
is 'events -o without an event exits with 1' 1 '' "there is no event *" on events -o key
on rm b
is 'events --max --raw acknowledges what it prints' 0 'removed b three' '' \
	on events --max 1 --raw --noheadings -o reason,key,value
is 'events --exec -o exits with 2' 2 '' 'events: -o, --noheadings and --raw print events, *' \
	on events --ack --exec true -o key

# locks and top
hbctl lock x --owner a >/dev/null
hbctl -b locks halt
is 'locks -o prints these columns' 0 'NAME  OWNER  BOUND
x     a      no' '' hbctl locks -o name,owner,bound
rows 'top --once -o prints a table alone' 'NAME     ENTRIES  STATE
small          0  halted
wide           1  pinned,halted' 'small wide' hbctl top --once --interval 10ms -o name,entries,state

# A terminal. Of 40 columns, libsmartcols 2.41 leaves two empty.
hbctl create "$(text 63)"
cut_name() {
	screen end print -- sh -c 'COLUMNS=60 hbctl belts -o name,ttl,policy' | sed -n 's/^\(kk*\) .*/\1/p'
}
is 'a table on a terminal of 60 columns cuts long names to 42 columns' 0 "$(text 42)" '' cut_name
is 'a table into a pipe is not cut' 0 "$(text 63)" '' sh -c \
	'COLUMNS=40 hbctl belts -o name,ttl --noheadings | sed -n "s/^\(k*\)  .*/\1/p"'
finish
