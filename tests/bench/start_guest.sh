#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# start_guest.sh - in the guest of start.sh: make the counts, and print them.
set -eu

# command [--user] WORD... - count the command of hbctl.
command() {
	user=
	[ "$1" != --user ] || {
		user=--user
		shift
	}
	name=$1
	[ "$2" != --fill ] || name="$1 $2"
	./start $user "hbctl $name" /payload/hbctl "$@"
}

# The kernel's work after booting would be counted otherwise.
sleep 3
insmod hashbelt.ko
./hbctl put key value
i=0
while [ $i -le 16 ]; do
	echo "put removed$i value"
	i=$((i + 1))
done | ./hbctl batch
./hbctl lock job --owner me >/dev/null	# makes the belt
./start --user "empty program" /payload/empty
command --user get key
command put key value
command incr number
command --user lock job%d --owner me
command has key
command touch key
command rm removed%d
command wait key
command get --fill key
./start --coprocess 'hbctl batch, get' 'get key' /payload/hbctl batch --reply
