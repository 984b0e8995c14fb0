#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage.t - what hbserve does without a device: help, wrong usage, completion; and its manual page.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"
program=hbserve
# shellcheck source=tests/serve/usage.sh
. "$tests/serve/usage.sh"

result "the manual page has the commands of --list-commands, with the same words" "$(
	hbserve --list-commands | awk -F '\t' '{
		gsub(/-/, "\\-", $1)
		print ".It Ic " $1
		print toupper(substr($2, 1, 1)) substr($2, 2) "."
	}' >"$temporary/listed"
	sed '1,/From hbserve --list-commands/d; /The end of the commands/,$d' "$manual" |
		diff "$temporary/listed" - | grep '^[<>]')"
is "bash completion offers options" 0 '--tls --tls-ca --tls-cert --tls-key --tls-verify' '' \
	complete hbserve --tl
is "bash completion offers shells" 0 'bash fish zsh' '' complete hbserve --completion ''
is "bash completion offers groups" 0 'root' '' complete hbserve --group roo
# fish 4 also offers words that have these letters in this order, as --auth-file has those of --tl.
is "fish completion offers options" 0 '--tls --tls-ca --tls-cert --tls-key --tls-verify' '' \
	offered 'hbserve --tls'
is "fish completion offers shells" 0 'bash fish zsh' '' offered 'hbserve --completion '
is "fish completion offers files" 0 "$temporary/helped" '' offered "hbserve -Y $temporary/he"
# hbserve is the init process of a container: the kernel discards a signal without a handler.

# ends_as_init SIGNAL STATUS - the signal ends hbserve, as the init process of a pid namespace, with this status
ends_as_init() {
	[ "$(id -u)" = 0 ] && map='' || map=--map-root-user
	# Under nohup(1) a hangup is ignored, and stays so.
	# shellcheck disable=SC2086 # an option, or none
	unshare $map --pid --fork --kill-child env --default-signal \
		hbserve-fake -s "$temporary/socket" 2>"$temporary/err" &
	parent=$!
	at_last test -S "$temporary/socket"
	# Other processes end meanwhile: grep goes on after a file that is gone.
	child=$(grep -ls "^PPid:	$parent\$" /proc/[0-9]*/status | cut -d / -f 3)
	kill -s "$1" "$child" || kill "$parent"
	wrong=
	at_last is_gone "$child" || wrong='it runs on'
	kill -KILL "$child" 2>/dev/null
	status=0
	wait $parent || status=$?
	result "SIG$1 ends hbserve as the init process with status $2" "$wrong$(check_status "$2")"
	rm -f "$temporary/socket"
}
ends_as_init TERM 0
ends_as_init HUP 129

without_device --belt shop --unix-socket "$temporary/socket"
finish
