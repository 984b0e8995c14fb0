#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage.t - what hbfollow does without a device: help, wrong usage, completion; and its manual page.
# shellcheck disable=SC2317 # functions that "is" calls
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"
manual=$tests/../docs/hbfollow.8

# long_options - print the long options of help.
long_options() {
	hbfollow --help | sed -nE 's/^ {2,6}(-[A-Za-z], )?--([a-z-]+).*/\2/p' | sort
}

# in_manual - print the long options whose descriptions the manual page has.
in_manual() {
	grep '^\.It Fl ' "$manual" | grep -oE '(Fl|,) -[a-z-]+' | sed 's/.* -//' | sort -u
}

# complete WORD... - what bash completion offers for the last word.
complete() {
	# shellcheck disable=SC2016 # the inner shell expands it
	bash -c 'source "$1" && shift && COMP_LINE=$* && COMP_POINT=${#COMP_LINE} &&
		_hbfollow "$1" "${@: -1}" "${@: -2:1}" && printf "%s\n" "${COMPREPLY[@]}" |
		sort | paste -s -d " " -' bash "$temporary/completion" "$@"
}

# offered LINE - what fish completion offers for the last word of the line.
offered() {
	fish -N -c "source '$temporary/hbfollow.fish'; complete -C '$1'" | cut -f 1 | sort | paste -s -d ' ' -
}

hbfollow --completion bash >"$temporary/completion"
hbfollow --completion zsh >"$temporary/_hbfollow"
hbfollow --completion fish >"$temporary/hbfollow.fish"
result "help has at most 80 columns" "$(hbfollow --help | grep -E '.{81}')"
result "the manual page has the options of help, and no others" "$(
	long_options >"$temporary/helped"
	in_manual | diff "$temporary/helped" - | grep '^[<>]')"
is "bash completion offers options" 0 '--tls-ca --tls-cert --tls-key' '' complete hbfollow --tl
is "fish completion offers options" 0 '--tls-ca --tls-cert --tls-key' '' offered 'hbfollow --tl'
is "zsh reads the script for completion" 0 '' '' zsh -f -c \
	"fpath=($temporary \$fpath) && autoload -U compinit && compinit -u -D && autoload +X _hbfollow"
hbfollow --belt shop redis://127.0.0.1/ 2>"$temporary/err"
status=$?
result "without the device it exits with status 3, which systemd does not retry, and says so" \
	"$(grep -q '^hbfollow: there is no device /dev/hashbelt: ' "$temporary/err" || cat "$temporary/err"
	[ $status = 3 ] || echo "status $status")"
finish
