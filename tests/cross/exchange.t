#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# exchange.t PROCESSOR PAYLOAD OTHER - a test: guests with x86 and with PROCESSOR load each other's belts, from a
# dump and from a file of hbctl save. PAYLOAD is that of guests with x86, and OTHER that of guests with PROCESSOR.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"

processor=$1 payload=$2 other=$3
temporary=$(mktemp -d -p "$(dirname "$payload")")	# where links to the payload can be
trap 'rm -rf "$temporary"' EXIT
kept=''

# exchange MACHINE PAYLOAD DESCRIPTION - load the belts of the last guest in another one, and keep those that it makes.
exchange() {
	root=$temporary/$count
	cp -al "$2" "$root" && cp "$tests/cross/belts.sh" "$root" && mkdir "$root/kept" || exit
	[ ! "$kept" ] || cp "$temporary"/kept/* "$root/kept"
	"$tests/vm/run.sh" --machine "$1" --memory 2048 "$root" sh ./belts.sh $kept >"$temporary/log" 2>&1
	result $? "$3" "$temporary/log"
	rm -rf "$root"
	mkdir -p "$temporary/kept"
	sed -n 's/^file //p' "$temporary/log" | while read -r name text; do
		echo "$text" | base64 -d >"$temporary/kept/$name"
	done
	kept=kept
}

exchange pc "$payload" "a guest with x86 dumps and saves a belt"
exchange "$processor" "$other" "a guest with $processor loads the dump and the saved belt of x86"
exchange pc "$payload" "a guest with x86 loads the dump and the saved belt of $processor"
finish
