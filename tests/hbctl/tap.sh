# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# tap.sh - sourced by the tests of hbctl: each check is one line of TAP.
#
# hbctl is searched in PATH. The checks run a command with its stdin from the
# file $input and compare exit status, stdout and stderr:
#
#   is NAME STATUS OUT ERR COMMAND...     stdout is OUT, to the letter
#   like NAME STATUS OUT ERR COMMAND...   stdout matches the shell pattern OUT
#   json NAME STATUS OUT ERR COMMAND...   as is, with N for numbers that differ between runs:
#                                         versions, tokens, belt times, memory and ids of belts
#
# ERR is a shell pattern: stderr must be one line that matches it after "hbctl: ". If ERR is
# empty, so must be stderr. OUT comes without its last newline.

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"

count=0
failures=0
finished=
temporary=$(mktemp -d)
input=/dev/null

# A test that ends before finish has failed, whatever its checks found.
# shellcheck disable=SC2317 # called by the trap
leave() {
	result=$?
	rm -rf "$temporary"
	[ "$finished" ] || {
		echo "Bail out! ended early, with status $result"
		exit 1
	}
}
trap leave EXIT

# plan - print the number of checks, after the last one
plan() {
	finished=yes
	echo "1..$count"
}

# finish - end the test; the last call of each test
finish() {
	plan
	[ "$failures" = 0 ]
	exit
}

# result NAME WRONG - report a check; it passes if WRONG is empty. Some shells' echo would replace the
# backslashes of a NAME.
result() {
	count=$((count + 1))
	if [ -z "$2" ]; then
		printf '%s\n' "ok $count - $1"
	else
		failures=$((failures + 1))
		printf '%s\n' "not ok $count - $1"
		echo "# $(place "$1"):"
		echo "$2" | sed 's/^/#   /'
	fi
}

# at_last COMMAND... - wait until the command succeeds, 30 s or more; false if it never does
at_last() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 3000 ] || return 1
		sleep 0.01
	done
}

# is_gone PID - whether the process has ended; a zombie has.
is_gone() {
	! grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null
}

# run COMMAND... - sets status, and writes stdout and stderr to files. With --json, errors have to be
# JSON; what their field "error" has is written as if it were text.
run() {
	status=0
	"$@" <"$input" >"$temporary/out" 2>"$temporary/err" || status=$?
	words=" $* "
	case "${words%% -- *} " in
	*' --json '*) text_of_json ;;
	esac
}

# text_of_json - replace errors in JSON by their text. Lines of another form stay.
text_of_json() {
	sed -i -n '/^{"error":".*","errno":\([0-9]*\|null\)}$/!{s/^/no JSON: /p; d}
		s/^{"error":"\(.*\)","errno":[^,]*}$/hbctl: \1/; s/\\"/"/g; s/\\\\/\\/g; p' \
		"$temporary/err"
}

# check_error PATTERN - print what is wrong with stderr
check_error() {
	error=$(cat "$temporary/err")
	if [ -z "$1" ]; then
		[ ! -s "$temporary/err" ] || echo "expected nothing on stderr, found: $error"
		return
	fi
	[ "$(wc -l <"$temporary/err")" = 1 ] || echo "expected one line on stderr"
	# shellcheck disable=SC2254 # a pattern
	case $error in
	"hbctl: "$1) ;;
	*) echo "expected on stderr: hbctl: $1" && echo "found: $error" ;;
	esac
}

# check_status STATUS - print the status if it is another
check_status() {
	[ "$status" = "$1" ] || echo "expected status $1, found $status"
}

# same - print the difference between the files wanted and out
same() {
	cmp -s "$temporary/wanted" "$temporary/out" ||
		diff -u -L expected -L found "$temporary/wanted" "$temporary/out"
}

want() {
	: >"$temporary/wanted"
	[ -z "$1" ] || printf '%s\n' "$1" >"$temporary/wanted"
}

is() {
	name=$1 wanted_status=$2 error_pattern=$4
	want "$3"
	shift 4
	run "$@"
	result "$name" "$(check_status "$wanted_status"; same
		check_error "$error_pattern")"
}

# normalize FILE - replace numbers that differ between runs by N
normalize() {
	sed -i 's/"\(version\|token\|bytes\|table\|id\|\(now\|wake\|deadline\|handed\)_ns\)":[0-9][0-9]*/"\1":N/g' "$1"
}

json() {
	name=$1 wanted_status=$2 error_pattern=$4
	want "$3"
	shift 4
	run "$@"
	normalize "$temporary/out"
	result "$name" "$(check_status "$wanted_status"; same
		check_error "$error_pattern")"
}

like() {
	name=$1 wanted_status=$2 out_pattern=$3 error_pattern=$4
	shift 4
	run "$@"
	out=$(cat "$temporary/out")
	# shellcheck disable=SC2254 # a pattern
	case $out in
	$out_pattern) wrong= ;;
	*) wrong=$(echo "expected on stdout: $out_pattern" && echo "found: $out") ;;
	esac
	result "$name" "$wrong$(check_status "$wanted_status"
		check_error "$error_pattern")"
}

# file NAME WANTED - the last stdout is the file WANTED, byte for byte
file() {
	wrong=
	cmp "$2" "$temporary/out" >"$temporary/cmp" 2>&1 ||
		wrong=$(cat "$temporary/cmp")
	result "$1" "$wrong"
}

# least_memory COMMAND - sets memory to the least limit, in KiB, in which hbctl runs the command
least_memory() {
	memory=1024
	while ! (ulimit -v $memory && exec hbctl "$1") >/dev/null 2>&1; do
		memory=$((memory + 512))
	done
}

# text LENGTH - print that many letters
text() {
	head -c "$1" /dev/zero | tr '\0' k
}
