# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154 # $temporary and $status are tap.sh's
#
# example.sh - sourced after tap.sh: checks on the output of a program of examples/.
#
# A program reports a broken promise itself, by its exit status and on stderr. The tests
# check what it printed on stdout.

# example COMMAND... - run a program; the checks below read its output. Checks that the
# program exits with 0 and prints nothing on stderr.
example() {
	run "$@"
	result "$(echo "$*" | sed "s|$temporary/||") exits with 0 and prints no error" "$(
		[ "$status" = 0 ] || echo "status $status"
		cat "$temporary/err"
	)"
}

# said NAME LINE... - checks that stdout has these lines in this order; others may come
# between. If one is missing, prints the lines found after the last match, and stderr.
said() {
	name=$1
	shift
	printf '%s\n' "$@" >"$temporary/wanted"
	result "$name" "$(awk '
		FILENAME != last { file++; last = FILENAME }
		file == 1 { wanted[++n] = $0; next }
		$0 == wanted[i + 1] { i++; after = found = ""; next }
		++after <= 10 { found = found "\nfound: " $0 }
		END {
			if (i < n)
				print "expected in its place: " wanted[i + 1] found \
					"\nexit status " status ", on stderr:" said
		}
	' status="$status" said="$(tail -n 5 "$temporary/err")" "$temporary/wanted" \
		"$temporary/out")"
}

# lines NAME NUMBER PATTERN - checks how many lines match an extended regular expression.
lines() {
	found=$(grep -cE -e "$3" "$temporary/out")
	wrong=
	[ "$found" = "$2" ] || wrong="expected $2 lines that match '$3', found $found"
	result "$1" "$wrong"
}

# usage NAME - checks that --help prints the usage on stdout and exits with 0, and that a
# wrong option prints it on stderr and exits with 2.
usage() {
	run "$1" --help
	wrong=
	[ "$status" = 0 ] && grep -q "^usage: $1" "$temporary/out" &&
		[ ! -s "$temporary/err" ] || wrong="--help: status $status"
	run "$1" --nonsense
	[ "$status" = 2 ] && grep -q "^usage: $1" "$temporary/err" &&
		[ ! -s "$temporary/out" ] || wrong="$wrong --nonsense: status $status"
	result "$1 --help prints the usage, and a wrong option exits with 2" "$wrong"
}
