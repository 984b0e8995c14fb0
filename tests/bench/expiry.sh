#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# expiry.sh [ENTRIES [OPTION]...] - let ENTRIES (1000000) entries expire at once, in a guest with OPTIONs of
# tests/vm/run.sh, such as --cpus 1 or --count-instructions.
#
# The guest takes the time for which an emulated processor waits for one of this machine as time of
# the task that ran there. So each processor time is followed by that of the emulator, as this
# machine counts it, and by how long the emulator's threads waited for a processor.
set -eu
unset CDPATH
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# find_emulator PROCESS - set emulator to that which the process has started.
find_emulator() {
	for child in $(pgrep -P "$1"); do
		{ read -r name <"/proc/$child/comm"; } 2>/dev/null || continue
		case $name in
		qemu-*) emulator=$child ;;
		*) find_emulator "$child" ;;
		esac
	done
}

# look - set ran and waited to the times of the emulator's threads, nanoseconds. It starts no
# process: that would take long on a busy machine, and the program goes on meanwhile.
look() {
	ran=0 waited=0
	for thread in "/proc/$emulator/task/"*; do
		read -r running waiting _ <"$thread/schedstat" || continue
		ran=$((ran + running)) waited=$((waited + waiting))
	done
}

# account - copy the program's output, and add a line to each processor time.
account() {
	emulator=''
	while IFS= read -r line; do
		echo "$line"
		[ "$emulator" ] || find_emulator $$
		case $line in
		" "*"processor time:"*)
			ran_before=$ran waited_before=$waited
			look
			echo "  emulator: ran $(((ran - ran_before) / 1000000)) ms," \
				"waited $(((waited - waited_before) / 1000000)) ms"
			;;
		" "*) ;;
		*) look ;;
		esac
	done
}

entries=${1-1000000}
[ $# = 0 ] || shift
{
	"$top/tests/vm/run.sh" --memory $((1024 + entries / 3000)) "$@" \
		"$top/.cache/build/payload" sh -c "insmod hashbelt.ko &&
			./expiry $entries && rmmod hashbelt" && : || echo $? >"$work/status"
} | account
[ ! -e "$work/status" ] || exit "$(cat "$work/status")"
