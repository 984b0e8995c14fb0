#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# connections.t - 100,000 long connections that time out when they are silent.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

plan 10
usage connections
example connections
said "100000 connections are open at once" \
	"  0 s  100000 open, 0 refreshed, 0 timed out"
said "nobody times out before a minute of silence" \
	" 60 s  100000 open, 690000 refreshed, 0 timed out"
said "a refreshed connection does not block the others behind it" \
	"120 s  10000 open, 1290000 refreshed, 90000 timed out"
said "a busy connection does not time out" \
	"180 s  10000 open, 1890000 refreshed, 90000 timed out" \
	"240 s  10000 open, 1890000 refreshed, 90000 timed out"
said "and does when it falls silent" \
	"242 s  0 open, 1890000 refreshed, 100000 timed out"
holds "a refresh is O(1): it does not move the connection on the wheel" '
	$1 == "connections" {
		seen = 1
		# Each moves once in a timeout at most, and is told or moved then.
		if ($4 != 1890000 || $6 > 100000 + 4 * 10000)
			print
	}'
holds "the owner is told of each timeout, at most an interval late" '
	$1 == "connections" {
		seen = 1
		if ($8 != 100000 || $10 < 60 || $12 > 61)
			print
	}'
example connections 1
finish
