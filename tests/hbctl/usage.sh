# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# usage.sh - sourced after tap.sh by the tests of usage: checks whose names are the command itself.

no=/nonexistent/hashbelt

# as_typed WORD... - print words as they are typed
as_typed() {
	for word; do
		case $word in
		*[!A-Za-z0-9_./=,:%+-]* | '') printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
}

# refuses ERR WORD... - hbctl with these words exits with 2, and says ERR
refuses() {
	message=$1
	shift
	is "hbctl$(as_typed "$@") exits with 2" 2 '' "$message" hbctl "$@"
}

# takes WORD... - these words are right: hbctl comes to open its device
takes() {
	is "hbctl$(as_typed "$@") is right usage" 3 '' 'there is no device *' hbctl -D "$no" "$@"
}
