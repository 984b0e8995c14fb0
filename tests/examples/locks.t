#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# locks.t - a lock manager with leases and fencing tokens.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

plan 15
usage locks
example locks
said "a lock is refused while another has it" \
	"Ann locks report for 10 s: yes" \
	"Bob locks report for 10 s: no, another has it"
said "only the holder unlocks" \
	"Bob unlocks report: no, it is another's" \
	"Ann unlocks report: yes" \
	"Ann unlocks report: no, nobody has it"
said "one can ask who has a lock, since when, and how long still" \
	"report: with Ann for 5 s, 5 s left"
said "re-entrant for the same owner, whose lease is longer then" \
	"report: with Ann for 5 s, 5 s left" \
	"Ann locks report for 20 s: yes" \
	"report: with Ann for 5 s, 20 s left"
said "a lease can be too long" \
	"Ann locks report for 61 s: no, the lease is too long"
said "a lease ages out" \
	"Ann locks file for 10 s: yes" \
	"Bob locks file for 10 s: no, another has it" \
	"10 s pass" \
	"Bob locks file for 10 s: yes"
said "the fencing token lets a checker refuse the late write" \
	"Bob writes 'from Bob': stored" \
	"Ann writes 'late, from Ann': refused, the token is old" \
	"stored: from Bob"
said "who was late cannot unlock for the new holder" \
	"Ann unlocks file: no, it is another's"
said "all locks of one owner are released at once, and nobody else's" \
	"Ann has 3" \
	"Bob has 1" \
	"release all of Ann: 3" \
	"Ann has 0" \
	"Bob has 1" \
	"Bob locks a for 10 s: yes"
said "a lock that is bound is released when its process dies, to who waits for it" \
	"Eve locks printer, in a process of her own: yes" \
	"Bob locks printer for 10 s: no, another has it" \
	"Bob waits for it, and Eve is killed" \
	"Bob has it: yes, after 0 s"
said "who waits gives up after the time that was said" \
	"Ann waits 5 s for printer, which Bob renews: no, the wait is over"
said "a lease that is renewed does not end" \
	"Ann waits 5 s for printer, which Bob renews: no, the wait is over" \
	"Bob unlocks printer: yes"
said "no lock is left behind" "locks left 0"
finish
