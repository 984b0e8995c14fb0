#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh PROGRAM... - in the guest: load the module, run test programs one
# after the other, take the module out. What they print is marked so that
# tally.awk knows whose it is. A program's arguments are split off its word.
set -u

insmod hashbelt.ko || exit 1
for program; do
	echo "# begin ${program%% *}"
	# shellcheck disable=SC2086 # arguments, split on purpose
	./$program
	echo "# end ${program%% *} $?"
done
# A program may have taken it out itself.
if [ -d /sys/module/hashbelt ]; then
	rmmod hashbelt
fi
