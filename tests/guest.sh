#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh [NAME=VALUE]... PROGRAM... - in the guest: load the module, run test
# programs one after the other, take the module out. What they print is marked so
# that tally.awk knows whose it is. A program's arguments are split off its word.
#
# On a kernel that looks for leaks or counts lines, what it found is said in the end. With
# LEAKS=yes it has to be one that looks.
set -u

leaks=/sys/kernel/debug/kmemleak
lines=/sys/kernel/debug/gcov

seconds() {
	cut -d . -f 1 /proc/uptime
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
	echo "# begin leaks"
	echo 1..1
	# It switches itself off when it runs out of memory of its own.
	if echo scan >$leaks && cat $leaks >/tmp/leaks && [ ! -s /tmp/leaks ]; then
		echo "ok 1 - nothing has leaked"
	else
		sed 's/^/# /' /tmp/leaks
		echo "not ok 1 - nothing has leaked"
	fi
	echo "# end leaks 0"
}

# An archive of the counts, in lines of text. The files do not say how large they are,
# and tar goes by that: copies do.
show_lines() {
	find $lines -name 'hashbelt*.gcda' | while read -r file; do
		cat "$file" >"/tmp/${file##*/}"
	done
	cd /tmp && tar -c hashbelt*.gcda | gzip | base64 | sed 's/^/# gcda /'
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
insmod hashbelt.ko || exit 1
for program; do
	echo "# begin ${program%% *}"
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
[ ! -d $lines ] || show_lines
