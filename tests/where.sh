# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# where.sh - sourced by scripts that print TAP: file and line of a failed check.

script=$(cd "$(dirname "$0")" && pwd)/${0##*/}

# place DESCRIPTION - print "FILE:LINE" of the check with that description. A shell does not know
# the line that called a function, so take the first line with the most words of the description:
# words that come from variables are not in the file.
place() {
	awk -v description="$1" -v file="tests/${script##*/tests/}" '
		BEGIN { count = split(description, words, " ") }
		/^[[:space:]]*#/ { next }
		{
			found = 100 * (index($0, description) > 0)
			for (i = 1; i <= count; i++)
				found += index($0, words[i]) > 0
		}
		found > most { most = found; line = FNR }
		END { print file ":" line }
	' "$script"
}
