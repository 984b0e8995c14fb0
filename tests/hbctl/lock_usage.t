#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# lock_usage.t - what the commands on locks do without a device and without a store:
# usage, help, completion.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

plan 67
no=/nonexistent/hashbelt
commands="lock unlock renew locks release"

# operands COMMAND - right ones.
operands() {
	case $1 in
	lock) echo x ;;
	unlock | renew) echo x --owner a ;;
	release) echo --owner a ;;
	esac
}

unset HASHBELT_STORE
hbctl help >"$temporary/help"
hbctl completion bash >"$temporary/completion"
for command in $commands; do
	result "help lists $command" \
		"$(grep -q "^  $command " "$temporary/help" || echo missing)"
	like "help $command" 0 "usage: hbctl *$command: *--store CONNINFO*--device*" '' \
		hbctl help "$command"
	result "completion knows $command" \
		"$(grep -q " ${command}[ \"]" "$temporary/completion" || echo missing)"
	# shellcheck disable=SC2046 # words
	is "$command with an unknown option" 2 '' \
		"$command: there is no option '--foo' (see 'hbctl help $command')" \
		hbctl "$command" $(operands "$command") --foo
	# shellcheck disable=SC2046 # words
	is "$command with too many operands" 2 '' \
		"$command: 'more' is one operand too many *" \
		hbctl "$command" $(operands "$command") more
	# shellcheck disable=SC2046 # words
	is "$command without a device" 3 '' "there is no device $no: *" \
		hbctl -D $no "$command" $(operands "$command")
	# shellcheck disable=SC2046 # words
	is "$command on a belt and a store" 2 '' \
		"$command: --belt and --store exclude each other *" \
		hbctl -b x "$command" $(operands "$command") --store y
	# shellcheck disable=SC2046 # words
	is "$command: a type is for a store" 2 '' \
		"$command: --type is for locks in a store: --store is missing *" \
		hbctl "$command" $(operands "$command") --type t
done

# Operands
for command in lock unlock renew; do
	is "$command without a name" 2 '' "$command: an operand is missing: $command NAME*" \
		hbctl $command
	is "$command: a name without a letter" 2 '' \
		"$command: a key has 1 to 1024 bytes, not 0 *" hbctl $command '' --owner a
done
is 'a command without its --' 2 '' "lock: 'true' is one operand too many *" \
	hbctl lock x true
is 'a name with a dash' 3 '' "there is no device $no: *" hbctl -D $no lock -- -x
is 'a name with a dash, and a command' 3 '' "there is no device $no: *" \
	hbctl -D $no lock -- -x -- true --foo
is 'a name with a dash, and more' 2 '' "lock: 'true' is one operand too many *" \
	hbctl lock -- -x true
is 'what follows the -- is not ours' 3 '' "there is no device $no: *" \
	hbctl -D $no lock x -- true --foo --owner
is 'no command behind the --' 2 '' 'lock: a command is missing behind the -- *' \
	hbctl lock x --
is 'no command behind a -- of its own' 2 '' 'lock: a command is missing behind the -- *' \
	hbctl lock -- -x --
is 'a -- that is an owner' 3 '' "there is no device $no: *" \
	hbctl -D $no lock x --owner --
result 'without a lock nothing is run' "$(
	hbctl -D $no lock x -- touch "$temporary/run" 2>/dev/null
	[ ! -e "$temporary/run" ] || echo 'it was')"

# Options
for command in unlock renew release; do
	# shellcheck disable=SC2046 # words
	is "$command needs an owner" 2 '' "$command: --owner is missing *" \
		hbctl $command $(operands $command | sed 's/--owner a//')
done
is 'an owner without a letter' 2 '' 'lock: --owner: an owner has 1 to 64 bytes, not 0 *' \
	hbctl lock x --owner ''
is 'an owner with too many' 2 '' 'locks: --owner: an owner has 1 to 64 bytes, not 65 *' \
	hbctl locks --owner "$(text 65)"
is 'a lease of no time' 2 '' 'lock: --ttl: 0 is not from 1ms *' hbctl lock x --ttl 0
is 'a lease that never ends' 2 '' "lock: --ttl: 'never' is not a duration *" \
	hbctl lock x --ttl never
is 'a lease too short to be renewed' 2 '' \
	'lock: --ttl: the lease of a command is at least 100ms *' \
	hbctl lock x --ttl 99ms -- true
is 'a wait that is none' 2 '' "lock: --wait: 'long' is not a duration *" \
	hbctl lock x --wait long
is 'a store has a name for it' 2 '' \
	'lock: --create-table is for a store: --store is missing *' hbctl lock --create-table
is '--aged is for a store' 2 '' 'release: --aged is for locks in a store: *' \
	hbctl release --aged
is '--aged is of all owners' 2 '' 'release: --owner and --aged exclude each other *' \
	hbctl release --aged --owner a --store y

finish
