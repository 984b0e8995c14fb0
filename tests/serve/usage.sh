# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154 # $temporary, $tests and $program are the test's
# shellcheck disable=SC2317 # functions that "is" calls
#
# usage.sh - sourced after tap.sh by the tests of what a $program does without a device, hbserve or hbfollow: its
# help, its manual page, and its completion in three shells.
manual=$tests/../docs/$program.8

# long_options - print the long options of help.
long_options() {
	"$program" --help | sed -nE 's/^ {2,6}(-[A-Za-z], )?--([a-z-]+).*/\2/p' | sort
}

# in_manual - print the long options whose descriptions the manual page has.
in_manual() {
	grep '^\.It Fl ' "$manual" | grep -oE '(Fl|,) -[a-z-]+' | sed 's/.* -//' | sort -u
}

# complete WORD... - what bash completion offers for the last word.
complete() {
	# shellcheck disable=SC2016 # the inner shell expands it
	bash -c 'source "$1" && shift && COMP_LINE=$* && COMP_POINT=${#COMP_LINE} &&
		"_$0" "$1" "${@: -1}" "${@: -2:1}" && printf "%s\n" "${COMPREPLY[@]}" |
		sort | paste -s -d " " -' "$program" "$temporary/completion" "$@"
}

# offered LINE - what fish completion offers for the last word of the line.
offered() {
	fish -N -c "source '$temporary/$program.fish'; complete -C '$1'" | cut -f 1 | sort | paste -s -d ' ' -
}

"$program" --completion bash >"$temporary/completion"
"$program" --completion zsh >"$temporary/_$program"
"$program" --completion fish >"$temporary/$program.fish"
result "help has at most 80 columns" "$("$program" --help | grep -E '.{81}')"
result "the manual page has the options of help, and no others" "$(
	long_options >"$temporary/helped"
	in_manual | diff "$temporary/helped" - | grep '^[<>]')"
is "zsh reads the script for completion" 0 '' '' zsh -f -c \
	"fpath=($temporary \$fpath) && autoload -U compinit && compinit -u -D && autoload +X _$program"

# without_device OPTION... - check that the program ends for want of a device
without_device() {
	"$program" "$@" 2>"$temporary/err"
	status=$?
	result "without the device it exits with status 3, which systemd does not retry, and says so" \
		"$(grep -q "^$program: there is no device /dev/hashbelt: " "$temporary/err" || cat "$temporary/err"
		[ $status = 3 ] || echo "status $status")"
}
