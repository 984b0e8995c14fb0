#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage.t - what hbserve does without a device: help, wrong usage, completion; and its manual page.
# shellcheck disable=SC2317 # functions that "is" calls
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"
manual=$tests/../docs/hbserve.8

# long_options - print the long options of help.
long_options() {
	hbserve --help | sed -nE 's/^ {2,6}(-[A-Za-z], )?--([a-z-]+).*/\2/p' | sort
}

# in_manual - print the long options whose descriptions the manual page has.
in_manual() {
	grep '^\.It Fl ' "$manual" | grep -oE '(Fl|,) -[a-z-]+' | sed 's/.* -//' | sort -u
}

# complete WORD... - what bash completion offers for the last word.
complete() {
	# shellcheck disable=SC2016 # the inner shell expands it
	bash -c 'source "$1" && shift && COMP_LINE=$* && COMP_POINT=${#COMP_LINE} &&
		_hbserve "$1" "${@: -1}" "${@: -2:1}" && printf "%s\n" "${COMPREPLY[@]}" |
		sort | paste -s -d " " -' bash "$temporary/completion" "$@"
}

# offered LINE - what fish completion offers for the last word of the line.
offered() {
	fish -N -c "source '$temporary/hbserve.fish'; complete -C '$1'" | cut -f 1 | sort | paste -s -d ' ' -
}

hbserve --completion bash >"$temporary/completion"
hbserve --completion zsh >"$temporary/_hbserve"
hbserve --completion fish >"$temporary/hbserve.fish"
result "help has at most 80 columns" "$(hbserve --help | grep -E '.{81}')"
result "the manual page has the options of help, and no others" "$(
	long_options >"$temporary/helped"
	in_manual | diff "$temporary/helped" - | grep '^[<>]')"
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
is "zsh reads the script for completion" 0 '' '' zsh -f -c \
	"fpath=($temporary \$fpath) && autoload -U compinit && compinit -u -D && autoload +X _hbserve"
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

hbserve --belt shop --unix-socket "$temporary/socket" 2>"$temporary/err"
status=$?
result "without the device it exits with status 3, which systemd does not retry, and says so" \
	"$(grep -q '^hbserve: there is no device /dev/hashbelt: ' "$temporary/err" || cat "$temporary/err"
	[ $status = 3 ] || echo "status $status")"
finish
