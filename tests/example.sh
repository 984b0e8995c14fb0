#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# example.sh list | NAME [ARGUMENT]... - list the programs of examples/, or run one in a guest, and exit with
# its status. Without a name, or with an unknown one, list them and exit with 2.
set -eu
unset CDPATH
top=$(cd "$(dirname "$0")/.." && pwd)

# list - print the name of each example, with the description in its first line.
list() {
	echo "There are these examples:"
	sed -s -n -e '3s/^ \* \([a-z_]*\) - /\1\t/p' -e '4s/^# \([a-z_]*\)\.sh - /\1\t/p' \
		"$top"/examples/*.c "$top/examples/offline_locks.sh" | sort | expand -t 16
}

[ "${1-}" != list ] || {
	list
	exit
}
# offline_locks needs a database, not a guest.
[ "${1-}" != offline_locks ] || exec "$top/tests/store/example.sh"
if [ $# = 0 ] || [ ! -f "$top/examples/$1.c" ]; then
	[ $# = 0 ] || echo "There is no example '$1'."
	list
	exit 2
fi >&2
make -s -C "$top/tests" payload
# sessions needs a log.
[ "$*" != sessions ] || set -- sessions access.log
echo "Booting a virtual machine (some seconds) ..."
# shellcheck disable=SC2016 # expanded in the guest
exec "$top/tests/vm/run.sh" "$top/.cache/build/payload" \
	sh -c 'insmod hashbelt.ko && exec "./$@"' sh "$@"
