#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh [NAME=VALUE]... PROGRAM... - in the guest: load the module, run test programs one
# after the other, remove the module. The output of each is marked for tally.awk. A PROGRAM may
# have arguments, after spaces.
#
# The next program may compare figures of the module. So if memory of a program is still in use when
# it has ended, in belts that it left or in those that are being freed, the module is loaded anew.
#
# With FIRST=yes the first program that fails is the last one.
#
# At the end, on a kernel with kmemleak or gcov, print leaks or the counts of lines. On a kernel
# with lockdep or KCSAN, check that it has not switched itself off. Print what lockdep has seen of the
# module's locks, for lock_order.sh. With LEAKS=yes the kernel must
# have kmemleak.
set -u

leaks=/sys/kernel/debug/kmemleak
lines=/sys/kernel/debug/gcov
locks=/proc/lockdep_stats
used=/sys/module/hashbelt/parameters/used_bytes
races=/sys/kernel/debug/kcsan

seconds() {
	cut -d . -f 1 /proc/uptime
}

# report STATUS NAME DESCRIPTION FILE - print a test, and after a failure the kernel's FILE.
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

# forget_leaks - discard the leaks that kmemleak finds before the module is loaded. Fails if the
# kernel has no kmemleak, or if it is switched off.
forget_leaks() {
	[ -e $leaks ] && echo scan 2>/dev/null >$leaks && echo scan >$leaks &&
		echo clear >$leaks
}

# find_leaks - kmemleak reports a leak in the second scan that finds it unchanged, and not in the
# first five seconds after the allocation.
find_leaks() {
	sleep 6
	echo scan >$leaks
	sleep 2
	# Writing fails if kmemleak has switched itself off, for want of memory.
	echo scan >$leaks && cat $leaks >/tmp/leaks && [ ! -s /tmp/leaks ]
	report $? leaks "kmemleak finds no leak after rmmod" /tmp/leaks
}

# check_locks - lockdep switches itself off for good when it has found an error, when its memory
# is used up, and after other errors of the kernel.
check_locks() {
	grep -q '^ debug_locks: *1$' $locks
	report $? locks "lockdep is on after all programs" $locks
}

# nestings - print what lockdep has seen so far: "lock CONTEXTS NAME" for each class of locks, and
# "inside OUTER INNER" for two of which a task took the inner one last, with the outer one held.
nestings() {
	awk '
	sub(/^.* BD: *[0-9]+ /, "") {
		contexts = substr($0, 1, index($0, ": ") - 1)
		outer = substr($0, index($0, ": ") + 2)
		print "lock", contexts, outer
	}
	sub(/^ -> \[[^]]*\] /, "") { print "inside", outer, $0 }' /proc/lockdep
}

# note_nestings - add to the file what lockdep forgets when the module is removed.
note_nestings() {
	[ ! -e $locks ] || nestings | grep -vxFf /tmp/nestings.kernel >>/tmp/nestings
}

bytes_used() {
	cat $used 2>/dev/null || echo 0
}

# load - load the module, unless it is loaded or built in.
load() {
	[ -d /sys/module/hashbelt ] || insmod hashbelt.ko
}

# refresh BYTES - load the module anew, unless it uses no more than BYTES, or a process that the
# program has left uses it. The removal waits until all memory is freed.
refresh() {
	[ "$(bytes_used)" -le "$1" ] || {
		note_nestings
		! rmmod hashbelt 2>/dev/null || insmod hashbelt.ko
	}
}

watched() {
	sed -n 's/^setup_watchpoints: //p' $races
}

# check_races WATCHED - WATCHED: the number of watched accesses before the module was loaded.
# watched - print the number of accesses that KCSAN has watched.
check_races() {
	grep -qx 'enabled: 1' $races && [ "$(watched)" -gt "$1" ]
	report $? races "KCSAN is on after all programs" $races
}

# show_lines - print an archive of the counts as lines of text. The files in debugfs have no
# size, which tar needs, so archive copies.
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
[ ! -e $locks ] || nestings >/tmp/nestings.kernel
# A kernel may have the driver built in.
[ -d /sys/module/hashbelt ] && inside=yes || inside=
for program; do
	# The one before may have removed the module.
	load || exit 1
	echo "# begin $program"
	began=$(seconds)
	bytes=$(bytes_used)
	# shellcheck disable=SC2086 # arguments, split on purpose
	./$program
	status=$?
	echo "# end ${program%% *} $status after $(($(seconds) - began)) s"
	[ $status = 0 ] || [ ! "${FIRST-}" ] || exit 1
	refresh "$bytes" || exit 1
done
# A program may have removed the module itself.
if [ ! "$inside" ] && [ -d /sys/module/hashbelt ]; then
	note_nestings
	rmmod hashbelt || exit 1
fi
[ ! "$looking" ] || find_leaks
[ ! -e $locks ] || check_locks
[ ! -e $races ] || check_races "$before"
[ ! -e $locks ] || sort -u /tmp/nestings | sed 's/^/# lockdep /'
[ ! -d $lines ] || show_lines
