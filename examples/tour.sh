#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# tour.sh - shows what a belt does, on a web server's log. Runs in the guest of
# "make run", beside hbctl, sessions and access.log. On a real machine it needs the
# module loaded, and these three files in the current directory.
set -eu

say() {
	printf '\n%s\n' "$*"
}

# print_command COMMAND... - print a command as a reader can type it.
print_command() {
	printf '$'
	for word; do
		case $word in
		*' '*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	echo
}

# show COMMAND... - print a command and run it.
show() {
	print_command "$@"
	"$@"
}

# miss COMMAND... - the same; the command must exit with 1 ("no").
miss() {
	print_command "$@"
	"$@" && return 1
	[ $? -eq 1 ]
}

if [ ! -e /dev/hashbelt ]; then
	say "The module makes /dev/hashbelt, and a belt named \"default\"."
	show insmod hashbelt.ko
fi
show hbctl belts

say "An entry can be read by every process of this machine, until its deadline."
show hbctl put greeting hello --ttl 15m
show hbctl get -v greeting

say "--- Two days of a web server's log, played on a belt in log time -----------"
say "Each client's address is an entry that lives for 30 minutes and is refreshed
by each request: a session. The belt is halted, and its time is moved by hand
from request to request."
show sessions access.log

say "--- A bucket falls off -------------------------------------------------------"
say "A belt of 4 buckets and 60 seconds moves on by one bucket every 20 seconds.
Load the last page that each client in the log read, and move the belt by hand."
awk '{ last[$1] = $7 } END { for (a in last) printf "%s\t%s\n", a, last[a] }' \
	access.log >pages
show hbctl create pages --ttl 60s --buckets 4
show hbctl -b pages halt
show hbctl -b pages load pages
show hbctl -b pages info
show hbctl -b pages get 192.0.2.1
echo

say "Two rotations later some clients come again (touch): their entries stay where
they are in memory, only their deadline moves."
show hbctl -b pages rotate
show hbctl -b pages rotate
for client in 192.0.2.1 192.0.2.2 192.0.2.3; do
	show hbctl -b pages touch "$client"
done
show hbctl -b pages size

say "After one more rotation all other entries have reached their deadline. From
that moment a get misses them. At the next rotation their bucket falls off, and
their memory is freed."
show hbctl -b pages rotate
miss hbctl -b pages get 192.0.2.4
show hbctl -b pages rotate
show hbctl -b pages size
show hbctl -b pages keys
show hbctl -b pages stat
show hbctl destroy pages

say "--- Events, and full belts ---------------------------------------------------"
say "A belt can report expired entries. Each event goes to one reader. If that reader
exits before it has acknowledged the event, the event goes to another reader."
show hbctl create jobs --ttl 10m --on-expire notify
show hbctl -b jobs halt
show hbctl -b jobs put job:17 'send the reminder' --ttl 30s
show hbctl -b jobs advance 10m
show hbctl -b jobs events --ack
show hbctl destroy jobs

say "A full belt evicts entries that were not read, those nearest their deadline first, if its settings allow it."
show hbctl create small --ttl 1h --max-entries 2 --when-full evict
show hbctl -b small put soon 1 --ttl 1m
show hbctl -b small put late 2
show hbctl -b small put new 3
show hbctl -b small keys
show hbctl set small --max-entries 1000
show hbctl destroy small

say "That was the tour. \"make shell\" gives you such a machine with a prompt."
