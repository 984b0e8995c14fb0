#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# lock_usage.t - the commands on locks without a device and without a store: usage, help,
# completion.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/hbctl/usage.sh
. "$(dirname "$0")/usage.sh"

commands="lock unlock renew locks release"

# operands COMMAND - valid operands
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
	like "help $command prints its usage with --store and --device" 0 \
		"usage: hbctl *$command: *--store CONNINFO*--device*" '' \
		hbctl help "$command"
	result "completion knows $command" \
		"$(grep -q " ${command}[ \"]" "$temporary/completion" || echo missing)"
	# shellcheck disable=SC2046 # words
	is "$command with an unknown option exits with 2" 2 '' \
		"$command: there is no option '--foo' (see 'hbctl help $command')" \
		hbctl "$command" $(operands "$command") --foo
	# shellcheck disable=SC2046 # words
	is "$command with an operand too many exits with 2" 2 '' \
		"$command: 'more' is one operand too many*" \
		hbctl "$command" $(operands "$command") more
	# shellcheck disable=SC2046 # words
	is "$command without a device exits with 3" 3 '' "there is no device $no: *" \
		hbctl -D $no "$command" $(operands "$command")
	# shellcheck disable=SC2046 # words
	is "$command with -b and --store exits with 2" 2 '' \
		"$command: --belt and --store exclude each other *" \
		hbctl -b x "$command" $(operands "$command") --store y
	# shellcheck disable=SC2046 # words
	is "$command with --belt-owner and --store exits with 2" 2 '' \
		"$command: --belt-owner and --store exclude each other *" \
		hbctl --belt-owner 0 "$command" $(operands "$command") --store y
	# shellcheck disable=SC2046 # words
	is "$command --type without --store exits with 2" 2 '' \
		"$command: --type is for locks in a store: --store is missing *" \
		hbctl "$command" $(operands "$command") --type t
done

# Operands
for command in lock unlock renew; do
	is "$command without a name exits with 2" 2 '' \
		"$command: an operand is missing: $command NAME*" \
		hbctl $command
	is "$command with an empty name exits with 2" 2 '' \
		"$command: a key has 1 to 1024 bytes, not 0 *" hbctl $command '' --owner a
done
refuses "lock: 'true' is one operand too many: write '--' before a command (*" lock x true
refuses "lock: there is no option '-c': write '--' before a command (*" lock x tar -cf y
refuses "lock: there is no option '--gzip': write '--' before a command (*" lock x tar --gzip
is 'lock -- -x is right usage' 3 '' "there is no device $no: *" hbctl -D $no lock -- -x
is 'lock -- -x -- with a command is right usage' 3 '' "there is no device $no: *" \
	hbctl -D $no lock -- -x -- true --foo
refuses "lock: 'true' is one operand too many *" lock -- -x true
is 'lock takes options after the second -- as those of the command' 3 '' \
	"there is no device $no: *" \
	hbctl -D $no lock x -- true --foo --owner
refuses 'lock: a command is missing behind the -- *' lock x --
refuses 'lock: a command is missing behind the -- *' lock -- -x --
is 'lock --owner -- is right usage' 3 '' "there is no device $no: *" \
	hbctl -D $no lock x --owner --
result 'lock that fails does not run its command' "$(
	hbctl -D $no lock x -- touch "$temporary/run" 2>/dev/null
	[ ! -e "$temporary/run" ] || echo 'the command has run')"

# Options
for command in unlock renew release; do
	# shellcheck disable=SC2046 # words
	is "$command without --owner exits with 2" 2 '' "$command: --owner is missing *" \
		hbctl $command $(operands $command | sed 's/--owner a//')
done
refuses 'lock: --owner: an owner has 1 to 64 bytes, not 0 *' lock x --owner ''
is 'locks --owner with an owner of 65 bytes exits with 2' 2 '' \
	'locks: --owner: an owner has 1 to 64 bytes, not 65 *' \
	hbctl locks --owner "$(text 65)"
refuses 'lock: --ttl: 0 is not from 1ms *' lock x --ttl 0
refuses "lock: --ttl: 'never' is not a duration *" lock x --ttl never
refuses 'lock: --ttl: the lease of a command is at least 100ms *' lock x --ttl 99ms -- true
refuses 'lock: --close needs a COMMAND *' lock x --close
refuses 'lock: --close is for locks in a belt: *' lock x --close --store y -- true
refuses "lock: --wait: 'long' is not a duration *" lock x --wait long
refuses 'lock: --conflict-exit-code: 256 is not from 0 to 255 *' lock x -E 256 -- true
refuses 'lock: --create-table is for a store: --store is missing *' lock --create-table
refuses 'release: --aged is for locks in a store: *' release --aged
refuses 'release: --owner and --aged exclude each other *' release --aged --owner a --store y

finish
