# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# shellcheck disable=SC2154,SC2034 # $temporary and $status are tap.sh's
#
# belt.sh - sourced after tap.sh by the tests that work on belts, as root.
#
# Belts' time stands still and is moved by hand, so times left are exact and
# nothing has to be waited for. Belts that the tests make are left behind, for the
# next one to destroy.

[ -c /dev/hashbelt ] || {
	echo "Bail out! there is no /dev/hashbelt"
	exit 1
}

hbctl belts | awk 'NR > 1 && $1 != "default" { print $1 }' | while read -r name; do
	hbctl destroy "$name"
done

# belt NAME OPTION... - a belt whose time stands still, and 'on' works on it.
belt() {
	belt=$1
	hbctl create "$@" && hbctl -b "$1" halt || exit 1
}

on() {
	hbctl -b "$belt" "$@"
}

# value NAME VALUE COMMAND... - stdout is VALUE and nothing more.
value() {
	name=$1
	printf '%s' "$2" >"$temporary/wanted"
	shift 2
	run "$@"
	result "$name" "$(judge_status 0; same; judge_error '')"
}

# version_of KEY
version_of() {
	on has "$1" --json | sed 's/.*"version":\([0-9]*\).*/\1/'
}

# nobody ARGUMENT... - hbctl as somebody who is not root.
nobody() {
	su -s /bin/sh nobody -c 'exec hbctl "$@"' -- sh "$@"
}

# valid NAME COMMAND... - what that prints is JSON, an object in each line.
valid() {
	name=$1
	shift
	run "$@"
	result "$name" "$(judge_status 0
		awk -f "$(dirname "$0")/json.awk" "$temporary/out" 2>&1)"
}

# asleep PID - it is in an ioctl, which has number 16.
asleep() {
	grep -q '^16 ' "/proc/$1/syscall" 2>/dev/null
}

# end PID... - when this returns each has ended, or was made to; sets status.
end() {
	for pid; do
		at_last is_gone "$pid" || kill -KILL "$pid"
		status=0
		wait "$pid" || status=$?
	done
}

# holds FIELD NUMBER - whether the belt's info says so.
holds() {
	on info --json | grep -q "\"$1\":$2[,}]"
}
