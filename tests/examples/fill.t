#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# fill.t - one miss, one fill.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

usage fill
example fill
said "one of eight concurrent readers fills, and seven wait for its page" \
	"readers 8 made the page 1 were told to wait 7 have it 8"
said "one reader is asked to fill ahead of the deadline, and all get the page" \
	"45 s pass" \
	"Ann: page 1" \
	"5 s pass" \
	"Ann: page 1, is to make one" \
	"Bob: page 1, another makes one" \
	"Bob: page 2"
said "an expired page goes to readers that take a stale one, and to no others" \
	"Ann: no page, is to make one" \
	"Bob: page 2, an old one, another makes one" \
	"Bob: no page, another makes one" \
	"Bob: page 3"
said "an expired page goes to no reader after its grace time" \
	"Bob: page 3" \
	"100 s pass" \
	"Ann: no page, is to make one"
said "a fill lease that is given up goes to the next reader" \
	"Ann gives up" \
	"Bob: no page, is to make one"
said "a fill lease that is over goes to the next reader" \
	"Bob: no page, is to make one" \
	"10 s pass" \
	"Ann: no page, is to make one"
said "a page that was made before a remove is not stored after it" \
	"Ann: no page, is to make one" \
	"the editor removes the page" \
	"Bob: no page, is to make one" \
	"Ann is late: the page of old news is not stored" \
	"Ann: page of new news"
said "a fill lease that is renewed goes to no other reader" \
	"--- a long time, and a failure" \
	"Ann: no page, is to make one" \
	"9 s pass" \
	"9 s pass" \
	"9 s pass" \
	"Bob: no page, another makes one"
said "a failure is told to other readers, and the page is tried again after a time" \
	"Ann cannot make the page" \
	"Bob: no page, and none can be made" \
	"21 s pass" \
	"Bob: no page, is to make one"
finish
