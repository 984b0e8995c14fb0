#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# silence.sh SECONDS FILE... -- COMMAND... - run COMMAND, and end it when none of the FILEs
# has grown for SECONDS: exit status 124, as timeout(1) has it. With 0 seconds there is no
# limit.
#
# A limit on the whole life of a guest has to be guessed for the slowest machine. Silence
# means the same on each machine: the command makes no progress any more.
#
# COMMAND reads what this script reads, and dies with it.
set -u

limit=$1
shift
files=''
while [ "$1" != -- ]; do
	files="$files
$1"
	shift
done
shift

# sizes - of the files, as far as they are there.
sizes() {
	echo "$files" | while read -r file; do
		[ ! -f "$file" ] || stat -c %s "$file"
	done
}

# watch - ends the command with status 124 of its own when it has been silent for too long.
watch() {
	silent=0 before=''
	while [ "$silent" -lt "$limit" ]; do
		sleep 1
		kill -0 "$command" || exit
		silent=$((silent + 1))
		now=$(sizes)
		[ "$now" = "$before" ] || silent=0
		before=$now
	done
	trap '' TERM
	kill -s TERM "$command"
	sleep 2
	kill -s KILL "$command"
	exit 124
}

# shellcheck disable=SC2317 # called by the trap
stop() {
	trap '' HUP INT TERM
	[ -z "$watcher" ] || kill "$watcher"
	kill -s TERM "$command" 2>/dev/null
	(sleep 2 && kill -s KILL "$command") >/dev/null 2>&1 &
	wait "$command"
	exit 143
}

watcher=''
exec 3<&0
setpriv --pdeathsig KILL "$@" <&3 3<&- &
command=$!
exec 3<&- </dev/null
trap stop HUP INT TERM
if [ "$limit" != 0 ]; then
	watch >/dev/null 2>&1 &
	watcher=$!
fi
status=0
wait "$command" || status=$?
[ -n "$watcher" ] || exit $status
# qemu ends with status 0 when it is told to: only the watcher knows why.
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
[ $? != 124 ] || status=124
exit $status
