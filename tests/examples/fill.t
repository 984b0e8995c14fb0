#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# fill.t - one miss, one fill.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

plan 8
usage fill
example fill
said "one of many who miss fills, and the others wait and have it" \
	"readers 8 made the page 1 were told to wait 7 have it 8"
said "one is told ahead of time, and all have the page meanwhile" \
	"45 s pass" \
	"Ann: page 1" \
	"5 s pass" \
	"Ann: page 1, is to make one" \
	"Bob: page 1, another makes one" \
	"Bob: page 2"
said "an old page is there for those who say that it will do, and no others" \
	"Ann: no page, is to make one" \
	"Bob: page 2, an old one, another makes one" \
	"Bob: no page, another makes one" \
	"Bob: page 3"
said "after its grace time it is gone for all" \
	"Bob: page 3" \
	"100 s pass" \
	"Ann: no page, is to make one"
said "a right that is given back goes to the next" \
	"Ann gives up" \
	"Bob: no page, is to make one"
said "a right ends with its lease" \
	"Bob: no page, is to make one" \
	"10 s pass" \
	"Ann: no page, is to make one"
finish
