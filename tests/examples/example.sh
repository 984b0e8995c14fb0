# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
# shellcheck disable=SC2154 # $temporary and $status are tap.sh's
#
# example.sh - sourced after tap.sh: what a program of examples/ has said.
#
# A program says itself, by its status and on stderr, when a promise is broken. The
# tests go by what it printed of belt time and of what it saw.

# example COMMAND... - run it; the checks below look at what it said. As a check: it
# ends with 0, and says nothing of a broken promise.
example() {
	run "$@"
	result "$(echo "$*" | sed "s|$temporary/||") exits with 0 and prints no error" "$(
		[ "$status" = 0 ] || echo "status $status"
		cat "$temporary/err"
	)"
}

# said NAME LINE... - these lines, in this order; others may come between. If one is
# missing, prints the lines found after the last that matched, and what stderr says.
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

# lines NAME NUMBER PATTERN - so many lines match an extended regular expression.
lines() {
	found=$(grep -cE -e "$3" "$temporary/out")
	wrong=
	[ "$found" = "$2" ] || wrong="expected $2 lines that match '$3', found $found"
	result "$1" "$wrong"
}

# holds NAME PROGRAM [VARIABLE=VALUE]... - the awk program has something to look at,
# and prints nothing that is wrong. It sets "seen" when it has looked.
holds() {
	name=$1 program=$2
	shift 2
	result "$name" "$(awk "$program
		END { if (!seen) print \"there was nothing to look at\" }" \
		"$@" "$temporary/out" 2>&1)"
}

# usage NAME - its help is on stdout with status 0, and wrong usage on stderr with 2.
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
