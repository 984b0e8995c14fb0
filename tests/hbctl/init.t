#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# init.t - hbctl as the init process of a pid namespace, as in a container: the kernel discards a signal
# for which such a process has no handler, and makes orphans its children.
# shellcheck disable=SC2317 # functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

# children PID - print the children of a process
children() {
	cat "/proc/$1/task/$1/children" 2>/dev/null
}

# handles PID - whether the process has a handler for SIGTERM: a bit of the fourth digit from the right
handles() {
	grep -q "^SigCgt:.*[4-7c-f]...\$" "/proc/$1/status" 2>/dev/null
}

sleeps() {
	grep -q '^State:[[:space:]]*S' "/proc/$1/status" 2>/dev/null
}

has_child() {
	[ "$(children "$1")" ]
}

# start COMMAND... - run a command as the init process of a pid namespace, in the background. Sets $parent,
# and $pid once the command can be ended by a signal and sleeps.
start() {
	unshare -p -f "$@" >"$temporary/out" 2>"$temporary/err" <"$input" &
	parent=$!
	at_last has_child $parent
	pid=$(children $parent)
	pid=${pid% }
	at_last "${handled:-handles}" "$pid"
	at_last sleeps "$pid"
}

# stop - kill the command, and wait for the parent
stop() {
	kill -KILL "$pid" 2>/dev/null
	status=0
	wait "$parent" || status=$?
}

# signalled NAME SIGNAL STATUS COMMAND... - the signal ends the command as the init process, with that status. A
# shell has its jobs ignore SIGINT and SIGQUIT, so these stay ignored.
signalled() {
	name=$1 signal=$2 wanted=$3
	shift 3
	start "$@"
	kill -"$signal" "$pid"
	wrong=
	at_last is_gone "$pid" || wrong='it runs on'
	stop
	result "$name" "$wrong$(check_status "$wanted")"
}

belt main --on-expire notify --report removed
mkfifo "$temporary/never"
hbctl lock held --owner other >/dev/null
signalled 'SIGTERM ends wait as the init process' TERM 143 hbctl -b main wait k
signalled 'SIGHUP ends wait as the init process' HUP 129 hbctl -b main wait k
signalled 'SIGTERM ends watch as the init process' TERM 143 hbctl -b main watch k
on get k --fill --lease 1h 2>/dev/null
signalled 'SIGTERM ends get --fill --wait as the init process' TERM 143 hbctl -b main get k --fill --wait forever
on rm k 2>/dev/null
signalled 'SIGTERM ends get --fill with a command as the init process' TERM 143 \
	hbctl -b main get k --fill -- sleep 1000
signalled 'SIGTERM ends top --once as the init process' TERM 143 hbctl top --once --interval 1d
signalled 'SIGTERM ends bench as the init process' TERM 143 hbctl bench --duration 1d
signalled 'SIGTERM ends lock --wait as the init process' TERM 143 hbctl lock held --wait forever
signalled 'SIGTERM to lock as the init process ends the command' TERM 143 hbctl lock x -- sleep 1000
signalled 'SIGTERM ends events --follow as the init process well' TERM 0 hbctl -b main events --follow
signalled 'SIGTERM ends a batch as the init process' TERM 143 hbctl batch "$temporary/never"
handled=sleeps
start sh -c "trap '' TERM && exec hbctl -b main wait k"
kill -TERM "$pid"
on put k 1
status=0
wait "$parent" || status=$?
handled=
result 'a signal that is ignored does not end wait as the init process' "$(check_status 0)"
on rm k

# A process that is not the init process is killed by the signal, as before.
hbctl -b main wait k &
pid=$!
at_last sleeps $pid
kill -TERM $pid
status=0
wait $pid || status=$?
result 'SIGTERM ends wait with the same status where it is no init process' "$(check_status 143)"

# alone PID - whether the process has one child, and that one none
alone() {
	set -- "$(children "$1")"
	[ "$(echo "$1" | wc -w)" = 1 ] && ! has_child "${1% }"
}

# reaps NAME COMMAND... - a command that hbctl runs as the init process leaves an orphan, which is reaped
# when it ends. The last word of COMMAND is this command.
reaps() {
	name=$1
	shift
	rm -f "$temporary/orphan"
	start "$@" sh -c "(sh -c 'echo >$temporary/orphan' &); read -r line <$temporary/never"
	at_last test -s "$temporary/orphan"
	wrong=
	at_last alone "$pid" || wrong=$(children "$pid" | tr ' ' '\n' | while read -r child; do
		[ ! "$child" ] || grep '^\(Name\|State\)' "/proc/$child/status"
	done)
	stop
	result "$name" "$wrong"
}
reaps 'lock as the init process reaps an orphan' hbctl lock x --
reaps 'get --fill as the init process reaps an orphan' hbctl -b main get k --fill --
finish
