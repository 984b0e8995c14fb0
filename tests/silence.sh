#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# silence.sh SECONDS FILE... -- COMMAND... - run COMMAND, and end it when none of the FILEs
# has grown for SECONDS. The exit status is then 124, as with timeout(1). With 0 seconds there
# is no limit.
#
# A limit on the total time of a guest would have to be guessed for the slowest machine. A limit
# on silence means the same on each machine: the command makes no progress any more.
#
# COMMAND has this script's stdin, and is killed with it. The variable EVIDENCE may have a command
# for a shell that runs before a silent COMMAND is ended, for 10 seconds at most: COMMAND may not answer.
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

# sizes - print the sizes of those files that exist.
sizes() {
	echo "$files" | while read -r file; do
		[ ! -f "$file" ] || stat -c %s "$file"
	done
}

# watch - end the command, and exit with 124, when it has been silent for too long.
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
	timeout -k 1 10 sh -c "${EVIDENCE-}"
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
# qemu exits with 0 on SIGTERM: only the watcher's status tells that it was ended.
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
[ $? != 124 ] || status=124
exit $status
