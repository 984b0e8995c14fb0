# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154,SC2034 # $temporary and $status are tap.sh's
#
# belt.sh - sourced by the tests that work on belts, as root; with tap.sh.
#
# Belt time is halted and moved by hand, so times left are exact and no test has to wait for
# them. A test leaves its belts behind; the next one destroys them.

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

[ -c /dev/hashbelt ] || {
	echo "Bail out! there is no /dev/hashbelt"
	exit 1
}

# Names are escaped: once as in a dump, and then by --raw.
hbctl belts --raw --noheadings -o name | grep -vx default | while read -r name; do
	hbctl destroy "$(printf %b "$(printf %b "$name")")"
done

# belt NAME OPTION... - create a halted belt, on which "on" works from here
belt() {
	belt=$1
	hbctl create "$@" && hbctl -b "$1" halt || exit 1
}

on() {
	hbctl -b "$belt" "$@"
}

# value NAME VALUE COMMAND... - stdout is VALUE without a newline
value() {
	name=$1
	printf '%s' "$2" >"$temporary/wanted"
	shift 2
	run "$@"
	result "$name" "$(check_status 0; same; check_error '')"
}

# version_of KEY - print the version of an entry
version_of() {
	on has "$1" --json | sed 's/.*"version":\([0-9]*\).*/\1/'
}

# nobody ARGUMENT... - run hbctl as user nobody
nobody() {
	su -s /bin/sh nobody -c 'exec hbctl "$@"' -- sh "$@"
}

# valid NAME COMMAND... - each line that the command prints is a JSON object, without control characters and without
# a member that is there twice
valid() {
	name=$1
	shift
	run "$@"
	result "$name" "$(check_status 0
		[ -s "$temporary/out" ] || echo 'there is no line'
		grep -v '^{.*}$' "$temporary/out"
		LC_ALL=C grep '[[:cntrl:]]' "$temporary/out"
		while IFS= read -r line; do
			printf '%s\n' "$line" | /usr/bin/jq -c --stream 'select(length == 2)[0]' 2>&1 |
				sort | uniq -d
			printf '%s\n' "$line" | /usr/bin/jq -c . 2>&1 >/dev/null
		done <"$temporary/out")"
}

# The processor's numbers of the system calls ioctl and write.
case $(uname -m) in
x86_64) ioctl=16 write=1 ;;
aarch64) ioctl=29 write=64 ;;
s390x) ioctl=54 write=4 ;;
esac

# asleep PID - whether the process is in an ioctl
asleep() {
	grep -q "^$ioctl " "/proc/$1/syscall" 2>/dev/null
}

# end PID... - wait until each process has ended, and kill it after 30 s; sets status
end() {
	for pid; do
		at_last is_gone "$pid" || kill -KILL "$pid"
		status=0
		wait "$pid" || status=$?
	done
}

# holds FIELD NUMBER - whether the belt's info has this number
holds() {
	on info --json | grep -q "\"$1\":$2[,}]"
}
