#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# connections.t - 100,000 long connections that time out after a minute of silence.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

# SCALE is a percentage of the usual size.
many=$((1000 * ${SCALE:-100}))
tenth=$((many / 10))

usage connections
example connections ${SCALE:+"$many"}
said "$many connections are open at once" \
	"  0 s  $many open, 0 refreshed, 0 timed out"
said "no connection times out before a minute of silence" \
	" 60 s  $many open, $((69 * tenth)) refreshed, 0 timed out"
said "a refreshed connection does not block the others behind it" \
	"120 s  $tenth open, $((129 * tenth)) refreshed, $((9 * tenth)) timed out"
said "a busy connection does not time out" \
	"180 s  $tenth open, $((189 * tenth)) refreshed, $((9 * tenth)) timed out" \
	"240 s  $tenth open, $((189 * tenth)) refreshed, $((9 * tenth)) timed out"
said "a silent connection is closed" \
	"242 s  0 open, $((189 * tenth)) refreshed, $many timed out"
holds "a refresh is O(1): it does not move the connection on the wheel" '
	$1 == "connections" {
		seen = 1
		# A busy connection moves at most once in a timeout, any other once.
		if ($4 != 189 * tenth || $6 > 14 * tenth)
			print
	}' tenth="$tenth"
holds "each timeout is reported, at most an interval late" '
	$1 == "connections" {
		seen = 1
		if ($8 != 10 * tenth || $10 < 60 || $12 > 61)
			print
	}' tenth="$tenth"
example connections 1
finish
