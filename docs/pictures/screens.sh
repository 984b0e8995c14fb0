#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# screens.sh - print what hbctl info and hbctl top show of some belts, for the pictures in
# README.md. Runs in the guest, beside screen.sh; make.sh reads what is printed.
set -eu
# shellcheck source=tests/hbctl/tap.sh
. "${0%/*}/tap.sh"
# shellcheck source=tests/hbctl/screen.sh
. "${0%/*}/screen.sh"
# This is no test.
trap - EXIT
export LC_ALL=C.UTF-8 TERM=vt100 COLUMNS=80 TERMINFO="$PWD/terminfo"

# fill BELT COUNT - put so many entries into the belt.
fill() {
	seq 1 "$2" | awk '{ printf "user:%d\t%040d\n", $1, $1 }' | hbctl -b "$1" load -
}

insmod hashbelt.ko
hbctl create sessions --ttl 30m --buckets 7 --policy updating --max-bytes 64M --when-full evict
hbctl create tokens --ttl 15m
hbctl create rates --ttl 1m --buckets 61
hbctl create jobs --ttl 10m --on-expire notify
fill tokens 4000
fill rates 900
fill jobs 25
hbctl -b jobs keys | head -n 12 | xargs -n 1 hbctl -b jobs expire
hbctl -b sessions halt
for clients in 120 310 650 900 1150 1400; do
	seq 1 "$clients" | awk -v n="$clients" '{ printf "%d:%d\t/login\n", n, $1 }' |
		hbctl -b sessions load -
	hbctl -b sessions advance 4m
done
hbctl -b sessions resume

echo '=== info'
echo '$ hbctl info sessions'
hbctl info sessions
echo '=== top'
(
	while [ ! -e /tmp/done ]; do
		hbctl -b tokens get user:17
		hbctl -b sessions get 1400:5
		hbctl -b rates incr hits
	done >/dev/null 2>&1
) &
# 100 percent of the gets hit: the first rates are on the screen.
screen size 80x10 see ' 100 ' print type q end -- hbctl top --interval 2s |
	grep -v -e '^screen:' -e '^modes'
: >/tmp/done
wait
echo '=== end'
