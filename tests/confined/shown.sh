# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# shown.sh - sourced by tests that run the commands of a document on a Debian with systemd. These set
# document to its name in docs/, if it is not hardening.md.
document=hardening.md

# shellcheck source=tests/hbctl/tap.sh
. /payload/tests/hbctl/tap.sh

# run_shown HEADING SHELL - run the commands below that heading of the document with this shell. Each has
# to succeed, and to print what the document shows.
run_shown() {
	tab=$(printf '\t')
	awk -v heading="$1" '/^##/ { inside = $0 == heading } inside' "/payload/docs/$document" \
		>"$temporary/$document"
	awk -v kinds=confined -f /payload/tests/docs/shown.awk "$temporary/$document" >"$temporary/shown"
	command=''
	while IFS="$tab" read -r mark text <&7; do
		if [ "$mark" = = ]; then
			echo "$text" >>"$temporary/wanted"
			continue
		fi
		end_shown "$2"
		command=${text#*"$tab"}
		: >"$temporary/wanted"
	done 7<"$temporary/shown"
	end_shown "$2"
}

# complaints - print what is wrong with a command that has run: its status, or its output. It may warn.
complaints() {
	check_status 0
	same
	[ "$status" = 0 ] || cat "$temporary/err"
}

# end_shown SHELL - run the command that has been read, if there is one.
end_shown() {
	[ "$command" ] || return
	# shellcheck disable=SC2086 # a command, split on purpose
	run $1 "$command"
	result "docs/$document: $command" "$(complaints)"
}
