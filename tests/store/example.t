#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# example.t - examples/offline_locks.sh: the offline lock manager.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/../examples/example.sh"

PATH=$(dirname "$0")/../../examples:$PATH
usage offline_locks.sh
# shellcheck source=tests/store/server.sh
. "$(dirname "$0")/server.sh"

# shellcheck disable=SC2154 # server.sh's
export HASHBELT_STORE="$store"
example offline_locks.sh
said "lock is refused while another owner has the lock, and succeeds for the holder" \
	"\$ hbctl lock invoice:17 --owner ann --ttl 10m" \
	"\$ hbctl lock invoice:17 --owner bob" \
	"(no)" \
	"\$ hbctl lock invoice:17 --owner ann --ttl 10m"
said "unlock by another owner than the holder is refused" \
	"\$ hbctl unlock invoice:17 --owner bob" \
	"(no)" \
	"All locks of one owner are released in one call."
said "release unlocks all locks of an owner" \
	"\$ hbctl release --owner ann" \
	"3"
said "an aged lock goes to another owner, and a write with the old token is refused" \
	"\$ hbctl lock invoice:17 --owner bob --ttl 1s" \
	"bob writes: stored" \
	"\$ hbctl lock invoice:17 --owner ann --wait 1m" \
	"ann writes: stored" \
	"bob writes: refused, the token is old"
said "lock runs a command under a free lock, and not if another owner has it" \
	"\$ hbctl lock invoice:17 --owner bob -- echo not run" \
	"(no)" \
	"\$ hbctl lock invoice:17 --owner bob -- echo run under the lock" \
	"run under the lock"
lines "a command whose lock another owner has does not run" 0 '^not run$'
is "no row is left in the table of the example when it has ended" 0 0 '' sql \
	"SELECT count(*) FROM hashbelt_example"
finish
