# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154,SC2034 # $temporary and $status are tap.sh's, $pid and $i for others
#
# locks.sh - sourced after tap.sh by the tests of locks in belts and in stores

# field NAME COMMAND... - print a number of the JSON that the command prints
field() {
	field=$1
	shift
	"$@" --json | sed "s/.*\"$field\":\([0-9]*\).*/\1/"
}

# later NAME COMMAND... - run the command in the background; sets $pid, and stores output,
# messages and status in files named NAME
later() {
	later=$temporary/$1
	shift
	rm -f "$later.status"
	(
		"$@" >"$later.out" 2>"$later.err" </dev/null &
		echo $! >"$later.pid"
		wait $!
		echo $? >"$later.status"
	) &
	at_last test -s "$later.pid"
	pid=$(cat "$later.pid")
	rm "$later.pid"
}

# has_ended NAME - whether that command has ended
has_ended() {
	[ -s "$temporary/$1.status" ]
}

# ended NAME WANTED STATUS OUT ERR - the command WANTED of later ends with STATUS, OUT and
# ERR
ended() {
	at_last has_ended "$2"
	cp "$temporary/$2.out" "$temporary/out"
	cp "$temporary/$2.err" "$temporary/err"
	status=$(cat "$temporary/$2.status")
	want "$4"
	result "$1" "$(check_status "$3"; same; check_error "$5")"
}

# check_command HBCTL LIST - fifteen checks of a command under a lock. HBCTL is a command
# that takes hbctl's arguments; LIST is a shell command that lists the locks.
check_command() {
	hbctl=$1
	# shellcheck disable=SC2016 # for the command's shell
	run "$hbctl" lock x --owner a -- sh -c \
		'echo "$HASHBELT_LOCK_TOKEN $*"; eval "$0 --json"' "$2" 1 -2 --json
	result 'a command under a lock finds the token in HASHBELT_LOCK_TOKEN' "$(
		read -r token words <"$temporary/out"
		[ "$words" = '1 -2 --json' ] || echo "arguments: $words"
		grep -q "\"owner\":\"a\",\"token\":$token," "$temporary/out" || cat "$temporary/out"
		check_status 0
		check_error '')"
	is 'the lock is free after its command has ended' 0 '' '' "$hbctl" locks
	is 'lock exits with the status of the command' 7 '' '' "$hbctl" lock x -- sh -c 'exit 7'
	# shellcheck disable=SC2016
	is 'lock exits with 137 when SIGKILL ends the command' 137 '' '' "$hbctl" lock x -- sh -c \
		'kill -9 $$'
	is 'lock exits with 127 for a command that does not exist' 127 '' \
		"cannot run '/nonexistent': No such file *" \
		"$hbctl" lock x -- /nonexistent
	is 'lock exits with 126 for a command that cannot be run' 126 '' \
		"cannot run '/': Permission denied" "$hbctl" lock x -- /
	is 'the lock is free after commands that failed or could not run' 0 '' '' "$hbctl" locks
	input=$temporary/words
	echo words >"$input"
	is 'the command under a lock reads the stdin of hbctl' 0 words '' "$hbctl" lock x -- cat
	input=/dev/null
	"$hbctl" lock y --owner a >/dev/null
	is 'lock with a command exits with 1 if another owner has the lock' 1 '' \
		"lock 'y' is held by 'a', *" \
		"$hbctl" lock y -- touch "$temporary/run"
	own="lock 'y' is held by 'a' already, and a command takes one of its own: *"
	is 'lock with a command exits with 1 if its owner has the lock already' 1 '' "$own" \
		"$hbctl" lock y --owner a --ttl 2h -- touch "$temporary/run"
	is 'lock --wait with a command exits with 1 if its owner has the lock' 1 '' "$own" \
		"$hbctl" lock y --owner a --wait forever -- touch "$temporary/run"
	is 'the owner can unlock after commands were refused for its lock' 0 '' '' \
		"$hbctl" unlock y --owner a
	is 'lock with a command exits with 1 if its owner runs another under it' 1 '' "$own" \
		"$hbctl" lock y --owner a -- \
		sh -c "${2%%locks*}lock${2#*locks} y --owner a -- touch '$temporary/run'"
	result 'no command that was refused the lock has run' \
		"$([ ! -e "$temporary/run" ] || echo 'a refused command has run')"
	is "no lock is listed once all commands have ended" 0 '' '' "$hbctl" locks
}

# count_up HOW MANY TIMES COMMAND... - three checks: MANY concurrent processes run a shell
# TIMES times under a lock that COMMAND takes. The shell adds 1 to a number in a plain file,
# so an increment is lost if two shells run at once.
count_up() {
	how=$1 many=$2 times=$3
	shift 3
	echo 0 >"$temporary/counter"
	: >"$temporary/order"
	: >"$temporary/wrong"
	children=
	for i in $(seq "$many"); do
		for _ in $(seq "$times"); do
			# shellcheck disable=SC2016 # for the command's shell
			"$@" sh -c 'read -r n <"$0/counter"; echo $((n + 1)) >"$0/counter"
				echo "$HASHBELT_LOCK_TOKEN" >>"$0/order"' "$temporary" ||
				echo "status $?"
		done >>"$temporary/wrong" 2>&1 &
		children="$children $!"
	done
	# shellcheck disable=SC2086 # a list
	wait $children
	result "each of $many concurrent processes gets the lock $times times$how" \
		"$(cat "$temporary/wrong")"
	result "a counter in a file loses no increment under the lock$how" \
		"$(grep -vx "$((many * times))" "$temporary/counter")"
	result "tokens of concurrent processes grow in the order of the grants$how" "$(
		sort -n -u "$temporary/order" | cmp - "$temporary/order" 2>&1)"
}
