#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# locks.t - a lock manager with leases and fencing tokens.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

usage locks
example locks
said "lock is refused while another owner has the lock" \
	"Ann locks report for 10 s: yes" \
	"Bob locks report for 10 s: no, another has it"
said "unlock is refused to other owners, and succeeds for the holder" \
	"Bob unlocks report: no, it is another's" \
	"Ann unlocks report: yes" \
	"Ann unlocks report: no, the lock is free"
said "holder returns the owner, the time held and the time left" \
	"report: with Ann for 5 s, 5 s left"
said "lock by the holder succeeds and makes the lease longer" \
	"report: with Ann for 5 s, 5 s left" \
	"Ann locks report for 20 s: yes" \
	"report: with Ann for 5 s, 20 s left"
said "lock with a lease beyond the ttl of the belt is refused" \
	"Ann locks report for 61 s: no, the lease is too long"
said "lock succeeds for another owner when the lease is over" \
	"Ann locks file for 10 s: yes" \
	"Bob locks file for 10 s: no, another has it" \
	"10 s pass" \
	"Bob locks file for 10 s: yes"
said "a write with an old fencing token is refused" \
	"Bob writes 'from Bob': stored" \
	"Ann writes 'late, from Ann': refused, the token is old" \
	"stored: from Bob"
said "unlock by a former holder is refused" \
	"Ann unlocks file: no, it is another's"
said "release unlocks all locks of one owner and no other" \
	"Ann has 3" \
	"Bob has 1" \
	"release all of Ann: 3" \
	"Ann has 0" \
	"Bob has 1" \
	"Bob locks a for 10 s: yes"
said "a bound lock goes to a waiter when its process is killed" \
	"Eve locks printer, in another process: yes" \
	"Bob locks printer for 10 s: no, another has it" \
	"Bob waits for it, and Eve is killed" \
	"Bob has it: yes, after 0 s"
said "a waiter gets the timeout when wait_ms is over" \
	"Ann waits 5 s for printer, which Bob renews: no, the wait is over"
said "a lease that its holder renews outlasts a waiter" \
	"Ann waits 5 s for printer, which Bob renews: no, the wait is over" \
	"Bob unlocks printer: yes"
said "the example leaves no lock" "locks left 0"
finish
