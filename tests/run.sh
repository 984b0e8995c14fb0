#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [--quick | --test | --ci | --deep | --all | [--short] SUITE...] - run suites of tests. Without
# an argument: --test. tests/suites says what each suite tries, and which sets have it.
#
#	--quick		what shows most mistakes, within two minutes of an edit, at the smallest sizes
#	--test		what tells a stranger whether a change is right, at small sizes
#	--ci		what CI runs after --test
#	--deep		all that has to pass before a release, at full sizes
#	--all		that, and what takes hours, with random seeds
#	--short		run the suites at the sizes of --test
#	--list		with one of these: print the programs of each suite, and run none
#
# ONLY="NAME..." in the environment selects suites of the set, "device kunit"; programs of the suites,
# "rights_test churn trace.t"; and cases and suites of KUnit, "hashbelt_wheel a_late_drain_finds_every_node". A
# name stands for the program with any arguments, in 64 and 32 bits; "stress:2:8000" and
# "rights_test-32" stand for one of these. Each failure comes with the command that runs it alone.
#
# SEED is the first of the numbers from which random tests start: 1, or "random" for a new one, as
# with --all.
#
# One suite runs on each processor of this machine at a time, at most four. The output of each stays
# in .cache/build/test. A failure is printed at once. The last line is "N passed, N failed, N skipped";
# the exit status is 0 only if none failed. A signal ends all that the tests have begun.
#
# A suite is carried out in a subshell, which has an ONLY of its own.
# shellcheck disable=SC2030,SC2031
set -u
unset CDPATH MAKEFLAGS MFLAGS MAKELEVEL

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/environment.sh
. "$tests/environment.sh"
logs=${TEST_LOGS:-$top/.cache/build/test}	# of another run, as in run.t
ONLY=$(echo "${ONLY-}" | tr -s ' ,' ' ' | sed 's/^ //; s/ $//')
size=full listing='' set=''
tab='	'

fail() {
	echo "run.sh: $1" >&2
	exit 1
}

# column N [NAME] - print a column of the table of suites, of all rows or of one.
column() {
	awk -F '\t' -v n="$1" -v name="${2-}" \
		'!/^#/ && (name == "" || name == $1) { print $n }' "$tests/suites"
}

# members SET - print the suites of a set.
members() {
	awk -F '\t' -v set="$1:" '!/^#/ && index(" " $2, " " set) { print $1 }' "$tests/suites"
}

# with_needs NAME... - print these suites, and those that they need, in the order of the table.
with_needs() {
	awk -F '\t' -v names="$*" '
		function want(name,	n, i, need) {
			if (name in wanted || !(name in needs))
				return
			wanted[name] = 1
			n = split(needs[name], need, " ")
			for (i = 1; i <= n; i++)
				want(need[i])
		}
		/^#/ { next }
		{ order[++rows] = $1; needs[$1] = $3 }
		END {
			n = split(names, name, " ")
			for (i = 1; i <= n; i++)
				want(name[i])
			for (i = 1; i <= rows; i++)
				if (order[i] in wanted)
					print order[i]
		}' "$tests/suites"
}

# check_names SUITE... - check that these suites exist.
check_names() {
	for suite; do
		column 1 | grep -Fqx -e "$suite" ||
			fail "no such suite: $suite; there are: $(column 1 | tr '\n' ' ')"
	done
}

# choose_seed - sets SEED to a number, to which a shell can add.
choose_seed() {
	case ${SEED:-1} in
	random) SEED=$(date +%s) ;;
	*[!0-9]* | 0* | ??????????????????*) fail "SEED is a number from 1 on, or random: $SEED" ;;
	*) SEED=${SEED:-1} ;;
	esac
}

# function_of SUITE - print the name of the suite's function.
function_of() {
	echo "suite_$1" | tr - _
}

# programs_of SUITE - print those programs of the suite that ONLY selects.
programs_of() (
	# shellcheck disable=SC2034 # for the suite
	listing=yes
	"$(function_of "$1")" | sort -u
)

# select_suites SUITE... - print "SUITE<tab>WORDS" for each of these suites that has what a word of ONLY
# names; no WORDS stand for the whole suite. Fails if no suite has what a word names.
select_suites() {
	for word in $ONLY; do
		found=
		for suite; do
			if [ "$suite" = "$word" ]; then
				printf '%s\t\n' "$suite"
			elif [ "$(ONLY=$word programs_of "$suite")" ]; then
				printf '%s\t%s\n' "$suite" "$word"
			else
				continue
			fi
			found=yes
		done
		[ "$found" ] || {
			echo "run.sh: ONLY: no suite and no program of $set is named $word;" \
				"tests/run.sh $set --list prints all" >&2
			return 1
		}
	done | awk -F '\t' '
		!($1 in words) { order[++n] = $1; words[$1] = " " }
		$2 == "" { whole[$1] = 1 }
		{ words[$1] = words[$1] $2 " " }
		END {
			for (i = 1; i <= n; i++)
				print order[i] "\t" (order[i] in whole ? "" : words[order[i]])
		}'
}

# queue SUITE... - write the state of the run: "SUITE waiting NEED..." for each.
queue() {
	for suite; do
		echo "$suite waiting $(column 3 "$suite")"
	done >"$logs/state"
}

# take - print what a worker does next: "run SUITE", "drop SUITE NEED" after a suite that it needs has
# failed, "wait" or "end". Marks the suite as running. The state has a lock of its own.
take() {
	# shellcheck disable=SC2016 # for awk
	flock "$logs/state.lock" awk -v file="$logs/state" '
		{
			state[$1] = $2
			order[++rows] = $1
			line[$1] = $0
			sub(/^[^ ]+ [^ ]+/, "", line[$1])
			alone[$1] = / alone( |$)/
			running += $2 == "running"
			blocked += $2 == "running" && alone[$1]
			waiting += $2 == "waiting"
			together += $2 == "waiting" && !alone[$1]
		}
		function ready(name,	n, i, need) {
			if (blocked || (alone[name] && (running || together)))
				return 0
			n = split(line[name], need, " ")
			for (i = 1; i <= n; i++) {
				if (!(need[i] in state) || state[need[i]] == "passed")
					continue
				return state[need[i]] == "failed" ? need[i] : 0
			}
			return 1
		}
		END {
			for (i = 1; i <= rows && what == ""; i++) {
				name = order[i]
				if (state[name] != "waiting" || !(found = ready(name)))
					continue
				what = found == 1 ? "run " name : "drop " name " " found
				state[name] = found == 1 ? "running" : "failed"
			}
			print what != "" ? what : waiting ? "wait" : "end"
			for (i = 1; i <= rows; i++)
				print order[i] " " state[order[i]] line[order[i]] >file
		}' "$logs/state"
}

# mark SUITE STATE - a suite has come to its end.
mark() {
	flock "$logs/state.lock" sed -i "s/^$1 running/$1 $2/" "$logs/state"
}

# spent FILE - print the processor time, user and system, in the last line that times(1) has written.
spent() {
	tail -n 1 "$1" | awk '{
		gsub(/s/, "")
		split($1, user, "m")
		split($2, sys, "m")
		printf "%d\n", (user[1] + sys[1]) * 60 + user[2] + sys[2] + 0.5
	}'
}

# carry_out SUITE - run a suite in a subshell, whose children's time is the suite's.
carry_out() (
	[ ! -s "$logs/$1.only" ] || read -r ONLY <"$logs/$1.only"
	"$(function_of "$1")"
	status=$?
	times >"$logs/$1.times"
	exit $status
)

# suite NAME - run a suite. Each line of its output gets the suite's name, and is written as a whole: a
# pipe keeps up to 4096 bytes together. The last one says that the suite has come to its end.
suite() {
	began_suite=$(date +%s)
	echo 1 >"$logs/$1.status"
	{
		echo "# suite-begin $1"
		carry_out "$1" 2>"$logs/$1.stderr" </dev/null
		suite_status=$?
		echo $suite_status >"$logs/$1.status"
		echo "# suite $1 $suite_status $(($(date +%s) - began_suite)) $(spent "$logs/$1.times")"
	} | tee "$logs/$1.tap" | stdbuf -oL cut -b -3000 | stdbuf -oL sed "s/^/$1$tab/"
	read -r suite_status <"$logs/$1.status"
	if [ "$suite_status" = 0 ]; then mark "$1" passed; else mark "$1" failed; fi
}

# drop SUITE NEED - report a suite that cannot be run.
drop() {
	printf '%s\t%s\n' "$1" "# suite-begin $1" "$1" "# begin-check $1" \
		"$1" "Bail out! not run, because $2 has failed" "$1" "# end $1 1" "$1" "# suite $1 0"
}

# work - run the next suite until there are no more.
work() {
	while :; do
		# shellcheck disable=SC2046 # words
		set -- $(take)
		case $1 in
		run) suite "$2" ;;
		drop) drop "$2" "$3" ;;
		wait) sleep 0.3 ;;
		*) return ;;
		esac
	done
}

# tick - on a terminal, say once a second how long the run has taken.
tick() {
	while sleep 1; do
		printf 'clock\t# tick %d\n' $(($(date +%s) - began))
	done
}

# carry_all_out - run the queue, with several workers.
carry_all_out() {
	clock=
	[ "$columns" = 0 ] || {
		tick &
		clock=$!
	}
	pids=
	for _ in $(seq "$workers"); do
		work &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086 # several
	wait $pids
	[ -z "$clock" ] || kill "$clock"
	times >"$logs/all.times"
	printf 'all\t# all %d %d\n' $(($(date +%s) - began)) "$(spent "$logs/all.times")"
}

# settings - print the settings of this run, for the commands that run tests again.
settings() {
	echo "SEED=$SEED"
	env | grep -E '^(SOAK|ACCESS_LOG)=[[:graph:]]+$' | grep -vx SOAK=3600
}

# weigh SUITE... - print "SUITE:SECONDS" for each: the processor time of the last run on this machine, or
# that of the table. Kernels are built once.
weigh() {
	for suite; do
		if [ -s "$times/$suite.$size" ]; then
			read -r seconds <"$times/$suite.$size"
		else
			seconds=$(column 2 "$suite" | tr ' ' '\n' | sort |
				sed -n "s/^${set#--}://p; \$s/.*://p" | head -n 1)
		fi
		echo "$suite:$seconds"
	done
}

# announce - say what this run will do, and about how long it will take.
announce() {
	total=$(echo "$weights" | tr ' ' '\n' | awk -F : -v workers="$workers" '{ sum += $2 }
		END { printf "%d", sum / workers / 60 + 0.99 }')
	echo "This runs, $workers at a time: $*."
	if [ -e "$times/payload.$size" ]; then
		echo "It takes about $total min, by the last run."
	else
		echo "It takes about $total min the first time: it installs packages, and builds what others use."
	fi
}

# remember SUITE... - keep the processor time of each suite for weigh(), if all of it was run.
remember() {
	for suite; do
		[ "$ONLY" ] || [ -e "$logs/$suite.only" ] || ! grep -qx 0 "$logs/$suite.status" 2>/dev/null ||
			spent "$logs/$suite.times" >"$times/$suite.$size"
	done
}

# run SUITE... - run suites, and report.
run() {
	announce "$@"
	queue "$@"
	began=$(date +%s)
	interactive=
	! awk -W version 2>&1 </dev/null | grep -qi mawk || interactive='-W interactive'
	short=
	[ "$size" = full ] || short="--short "
	# shellcheck disable=SC2086 # an option, or none
	carry_all_out | awk $interactive -v suites="$*" -v weights="$weights" -v workers="$workers" \
		-v columns="$columns" -v size="$short" -v settings="$(settings | sed 's/$/ /' | tr -d '\n')" \
		-f "$tests/tally.awk"
	verdict=$?
	remember "$@"
	return $verdict
}

# left - print the processes that this run has begun and that have not ended.
left() {
	grep -lsz "^HASHBELT_RUN=$HASHBELT_RUN\$" /proc/[0-9]*/environ | cut -d / -f 3 | grep -vx "$$"
}

# clean_up - end what is left, and remove temporary files. Guests get the time to remove theirs.
clean_up() {
	trap '' HUP INT TERM
	kill -s TERM -- "-$session" 2>/dev/null
	for _ in $(seq 50); do
		[ "$(left)" ] || break
		sleep 0.2
	done
	for process in $(left); do
		kill -s KILL "$process" 2>/dev/null
	done
	rm -rf --one-file-system "$TMPDIR"
}

# report_cut - say which suites a signal ends, and the last words of their guests: one that hangs is found.
report_cut() {
	sed -n 's/^\([^ ]*\) running.*/run.sh: a signal ends the suite \1/p' "$logs/state"
	for process in $(left); do
		grep -q -e '^qemu' -e '^ld-linux' "/proc/$process/comm" || continue
		console=$(tr '\0' '\n' <"/proc/$process/cmdline" |
			sed -n 's/^file,id=log,path=//p; s/^stdio,id=console,logfile=\(.*\),logappend=on$/\1/p')
		[ -f "$console" ] || continue
		echo "run.sh: the last words in $console, $(($(date +%s) - $(stat -c %Y "$console"))) s old:"
		tail -n 25 "$console" | tr -d '\r' | cut -c -160
	done
} >&2 2>/dev/null

# in_session ARGUMENT... - run this script again in a session of its own, whose processes a signal ends
# together: it has no terminal that could end some of them. All temporary files are in one directory.
in_session() {
	# Servers that tests start run as other users.
	TMPDIR=$(mktemp -d) && chmod 1777 "$TMPDIR" || exit 1
	HASHBELT_RUN=$TMPDIR
	export TMPDIR
	HASHBELT_RUN=$HASHBELT_RUN HASHBELT_SESSION=yes env --default-signal=INT,QUIT \
		setpriv --pdeathsig TERM setsid "$0" "$@" </dev/null &
	session=$!
	trap 'clean_up; exit 129' HUP
	trap 'clean_up; exit 130' INT
	trap 'report_cut; clean_up; exit 143' TERM
	wait $session
	status=$?
	clean_up
	exit $status
}

# A run that a test of this one begins has a session of its own. To print a list takes none: a signal to all
# processes of the caller's session would end others.
case " $* " in
*" --list "*) ;;
*)
	[ "${HASHBELT_SESSION-}" ] || in_session "$@"
	unset HASHBELT_SESSION
	trap 'trap "" TERM; kill -s TERM 0; exit 143' TERM
	;;
esac

list=
for argument; do
	shift
	case $argument in
	--list) list=yes ;;
	*) set -- "$@" "$argument" ;;
	esac
done
case ${1---test} in
--quick | --test | --ci | --deep | --all)
	[ $# -le 1 ] || fail "$1 stands alone, or before --list"
	set=${1---test}
	case $set in
	--quick) size=brief ;;
	--test) size=short ;;
	--all) SEED=${SEED:-random} ;;
	esac
	# shellcheck disable=SC2046 # names
	set -- $(members "${set#--}") $([ "$set" != --all ] || members deep)
	;;
--short)
	size=short
	shift
	;;
--*) fail "no such option: $1; see the head of tests/run.sh" ;;
esac
check_names "$@"
choose_seed
mkdir -p "$logs"
# shellcheck source=tests/suites.sh
. "$tests/suites.sh"

if [ "$list" ]; then
	for suite; do
		programs_of "$suite" | sed "s|^|$suite$tab|"
	done
	exit
fi

[ "${CACHE-}" != none ] || rm -rf "$top/.cache/cold"
times=$("$tests/cache.sh" times) || exit 1
# Children do not inherit the lock: one that outlives a run would keep it.
exec 8>"$logs/run.lock"
flock -n 8 || fail "another run uses $logs: wait for its end, or clone to another directory"
rm -f "$logs"/*.only "$logs"/*.status
if [ "$set" ] && [ "$ONLY" ]; then
	select_suites "$@" >"$logs/selected" || exit 1
	while IFS="$tab" read -r suite words; do
		echo "$words" >"$logs/$suite.only"
	done <"$logs/selected"
	# shellcheck disable=SC2046 # names
	set -- $(cut -f 1 "$logs/selected")
	ONLY=
fi
# shellcheck disable=SC2046 # names
set -- $(with_needs "$@")
workers=$(nproc)
[ "$workers" -le 4 ] || workers=4
columns=0
{
	[ ! -t 3 ] || columns=$(stty size <&3 2>/dev/null | cut -d ' ' -f 2)
} 3>&1
[ "${columns:-0}" != 0 ] || columns=0
weights=$(weigh "$@" | tr '\n' ' ')
run "$@" 8>&-
