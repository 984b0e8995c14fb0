#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh [NAME=VALUE]... PROGRAM... - in the guest: load the module, run test
# programs one after the other, take the module out. What they print is marked so
# that tally.awk knows whose it is. A program's arguments are split off its word.
#
# On a kernel that looks for leaks or counts lines, what it found is said in the end, and on one
# that checks locks or looks for races, that it has done so to the end. With LEAKS=yes it has
# to be one that looks.
set -u

leaks=/sys/kernel/debug/kmemleak
lines=/sys/kernel/debug/gcov
locks=/proc/lockdep_stats
races=/sys/kernel/debug/kcsan

seconds() {
	cut -d . -f 1 /proc/uptime
}

# report STATUS NAME DESCRIPTION FILE - a test of what the kernel says in FILE.
report() {
	echo "# begin-check $2"
	echo 1..1
	if [ "$1" = 0 ]; then
		echo "ok 1 - $3"
	else
		sed 's/^/# /' "$4"
		echo "not ok 1 - $3"
	fi
	echo "# end $2 0"
}

# What kmemleak finds now is none of the module's. Fails if it is not there, or
# switched off.
forget_leaks() {
	[ -e $leaks ] && echo scan 2>/dev/null >$leaks && echo scan >$leaks &&
		echo clear >$leaks
}

# A leak is reported by the second scan that sees it unchanged, and not in the
# first five seconds of its life.
find_leaks() {
	sleep 6
	echo scan >$leaks
	sleep 2
	# It switches itself off when it runs out of memory of its own.
	echo scan >$leaks && cat $leaks >/tmp/leaks && [ ! -s /tmp/leaks ]
	report $? leaks "nothing has leaked" /tmp/leaks
}

# Lockdep switches itself off for good when it has found something, when it has run out of
# memory of its own, and when something else is so wrong that it cannot be trusted any more.
check_locks() {
	grep -q '^ debug_locks: *1$' $locks
	report $? locks "locks were checked to the end" $locks
}

watched() {
	sed -n 's/^setup_watchpoints: //p' $races
}

# check_races WATCHED - more accesses have been watched than WATCHED, those before the module.
check_races() {
	grep -qx 'enabled: 1' $races && [ "$(watched)" -gt "$1" ]
	report $? races "races were looked for to the end" $races
}

# An archive of the counts, in lines of text. The files do not say how large they are,
# and tar goes by that: copies do.
show_lines() {
	find $lines -name '*.gcda' ! -name '*.mod.gcda' | while read -r file; do
		cat "$file" >"/tmp/${file##*/}"
	done
	cd /tmp && tar -c ./*.gcda | gzip | base64 | sed 's/^/# gcda /'
}

while :; do
	case ${1-} in
	[A-Z]*=*) export "${1?}" ;;
	*) break ;;
	esac
	shift
done
forget_leaks && looking=yes || looking=
[ "$looking" = "${LEAKS:-$looking}" ] || exit 1
[ ! -e $races ] || before=$(watched)
insmod hashbelt.ko || exit 1
for program; do
	echo "# begin $program"
	began=$(seconds)
	# shellcheck disable=SC2086 # arguments, split on purpose
	./$program
	echo "# end ${program%% *} $? after $(($(seconds) - began)) s"
done
# A program may have taken it out itself.
if [ -d /sys/module/hashbelt ]; then
	rmmod hashbelt || exit 1
fi
[ ! "$looking" ] || find_leaks
[ ! -e $locks ] || check_locks
[ ! -e $races ] || check_races "$before"
[ ! -d $lines ] || show_lines
