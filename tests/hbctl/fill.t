#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# fill.t - hbctl get --fill: one miss, one fill. Who fills, who waits, who takes an old
# value, and what becomes of the right when a command fails or its caller is killed.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

plan 85
# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

log=$temporary/log
go=$temporary/go

# A command that notes that it runs, ends when it is told to, and not by SIGTERM.
cat >"$temporary/compute" <<'END'
#!/bin/sh
trap '' TERM
echo run >>"$1"
until [ -e "$2" ]; do
	sleep 0.01
done
echo "$3"
END
chmod 755 "$temporary/compute"

# begin NAME ARGUMENT... - get, in the background; sets $last.
begin() {
	name=$1
	shift
	hbctl -b "$belt" get "$@" >"$temporary/$name.out" 2>"$temporary/$name.err" &
	last=$!
}

# Whether so many of the processes in $pids do.
# shellcheck disable=SC2317 # called by at_last
waiting() {
	[ "$(for pid in $pids; do
		cat "/proc/$pid/syscall"
	done | grep -c '^16 ')" = "$1" ]
}

# Whether a file has so many lines.
# shellcheck disable=SC2317 # called by at_last
lines() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" = "$2" ]
}

# ends NAME PID OUTPUT STATUS OUT ERR - it does, and has printed OUT.
ends() {
	end "$2"
	cp "$temporary/$3.out" "$temporary/out"
	cp "$temporary/$3.err" "$temporary/err"
	want "$5"
	result "$1" "$(judge_status "$4"; same; judge_error "$6")"
}

# token - the one in the last line on stderr.
token() {
	sed 's/.*(token \([0-9]*\))$/\1/' "$temporary/err"
}

# is_json NAME STATUS OUT ERR COMMAND... - as json, and tokens are N.
is_json() {
	name=$1 wanted_status=$2 error_pattern=$4
	want "$3"
	shift 4
	run "$@"
	normalize "$temporary/out"
	sed -i 's/"token":[1-9][0-9]*/"token":N/' "$temporary/out"
	result "$name" "$(judge_status "$wanted_status"; same
		judge_error "$error_pattern")"
}

belt f --ttl 100s --buckets 11 --grace 1m

# Who fills
on put k 1
value 'what is there is printed' 1 on get k --fill
is_json 'what is there, JSON' 0 '{"key":"k","version":N,"flags":0,"ttl_ms":100000,"value_len":1,"value":"1","stale":false,"granted":false}' \
	'' on get k --fill --json
is 'the first who misses it' 1 '' "'m' in belt 'f' is yours to fill (token [1-9]*)" \
	on get m --fill
first=$(token)
is 'the second' 5 '' "somebody else is filling 'm' in belt 'f'" on get m --fill
is 'it is missing for those who do not fill' 1 '' "there is no entry 'm' in belt 'f'" \
	on get m
is 'another key is another matter' 1 '' "'n' in belt 'f' is yours *" on get n --fill
is_json 'the first, JSON' 1 '{"key":"j","stale":false,"granted":true,"token":N}' \
	"'j' in belt 'f' is yours *" on get j --fill --json
is_json 'the second, JSON' 5 '{"key":"j","stale":false,"granted":false}' \
	'somebody else is *' on get j --fill --json
is 'an escaped key' 1 '' "'x\\\\ty' in belt 'f' is yours *" on get -e 'x\ty' --fill
on put m 2
value 'it is there for all when it is put' 2 on get m --fill
on rm m
is 'the right is given anew' 1 '' "'m' in belt 'f' is yours *" on get m --fill
result 'with a larger token' "$([ "$(token)" -gt "$first" ] || token)"
on advance 9s
is 'it lasts ten seconds' 5 '' 'somebody else *' on get m --fill
on advance 2s
is 'a fill lease is free after its default of ten seconds' 1 '' "'m' in belt 'f' is yours *" on get m --fill --lease 1h
on advance 50m
is 'a fill lease lasts as long as --lease says' 5 '' 'somebody else *' on get m --fill
is 'not to wait' 5 '' "somebody else is filling 'm' in belt 'f'" on get m --fill --wait 0
on advance 11m
is 'a fill lease ends when --lease says' 1 '' "'m' in belt 'f' is yours *" on get m --fill

# Who waits
belt w --ttl 100s --buckets 11
on get k --fill --lease 1h 2>/dev/null
begin a k --fill --wait forever
waiter=$last
at_last asleep "$waiter"
on put k filled
end "$waiter"
printf filled >"$temporary/wanted"
cp "$temporary/a.out" "$temporary/out"
result 'who waits has what is put' "$(same)"
on rm k
on get k --fill --lease 1h 2>/dev/null
begin a k --fill --wait 1m
waiter=$last
at_last asleep "$waiter"
on advance 2m
ends 'who waits too long' "$waiter" a 5 '' \
	"somebody else is filling 'k' in belt 'w', and took longer than one would wait"
begin a k --fill --wait 2h
waiter=$last
at_last asleep "$waiter"
on advance 1h
ends 'who waits has the right when the lease is over' "$waiter" a 1 '' \
	"'k' in belt 'w' is yours *"
on put k 1

# Ahead of the end
belt ahead --ttl 100s --buckets 11
on put k 1
on advance 80s
value 'not yet' 1 on get k --fill --ahead 10s
value 'not yet, in percents' 1 on get k --fill --ahead 10%
run on get k --fill --ahead 30s
printf 1 >"$temporary/wanted"
result 'one is asked to put it anew' "$(judge_status 0; same
	judge_error "'k' in belt 'ahead' is yours *")"
value 'all have the value' 1 on get k --fill --ahead 30s
on put k 2
value 'a value put ahead of time has its whole life again' 2 on get k --fill --ahead 30%
on advance 80s
is_json 'one is asked, in percents, JSON' 0 '{"key":"k","version":N,"flags":0,"ttl_ms":20000,"value_len":1,"value":"2","stale":false,"granted":true,"token":N}' \
	"'k' in belt 'ahead' is yours *" on get k --fill --ahead 30% --json
value 'one alone' 2 on get k --fill --ahead 30%

# An old value
belt old --ttl 100s --buckets 11 --grace 1m
on put k before
on advance 101s
is 'it is gone for those who do not fill' 1 '' "there is no entry 'k' *" on get k
run on get k --fill --lease 1h --stale
printf before >"$temporary/wanted"
result 'one is to fill, and has the old value' "$(judge_status 0; same
	judge_error "'k' in belt 'old' is yours *")"
value 'the others take the old value' before on get k --fill --stale
is_json 'they are told that it is one' 0 '{"key":"k","version":N,"flags":0,"ttl_ms":0,"value_len":6,"value":"before","stale":true,"granted":false}' \
	'' on get k --fill --stale --json
is 'get --fill without --stale does not take the old value' 5 '' 'somebody else *' on get k --fill
on put k after
value 'they have the new one when it is put' after on get k --fill --stale
on rm k
is 'what was removed is not old' 1 '' "'k' in belt 'old' is yours *" \
	on get k --fill --stale
on put k before
on advance 101s
on get k --fill --lease 1h 2>/dev/null >&2
on advance 61s
is 'what is older than the belt allows is gone' 5 '' 'somebody else *' \
	on get k --fill --stale

# A command
belt c --ttl 100s --buckets 11 --grace 1m
value 'it fills' made on get k --fill -- printf made
value 'what it wrote is there' made on get k
value 'it does not run again' made on get k --fill -- printf again
is 'it has its arguments' 0 '-l --json k' '' on get args --fill -- echo -l --json k
is 'it has our input' 0 here '' sh -c 'echo here | hbctl -b c get stdin --fill -- cat'
is_json 'JSON' 0 '{"key":"j","version":N,"flags":0,"ttl_ms":7000,"value_len":3,"value":"now","stale":false,"granted":true,"token":N}' \
	'' on get j --fill --ttl 7s --json -- printf now
like 'with a time-to-live' 0 '*"ttl_ms":7000,*' '' on has j --json
value 'a key that begins with a dash' made on get --fill -- -k -- printf made
run on get -v t --fill --ttl never -- printf x
result 'get -v' "$(grep -q '^ttl: never' "$temporary/err" || cat "$temporary/err")"
head -c 1048576 /dev/urandom >"$temporary/random"
run on get large --fill -- cat "$temporary/random"
file 'it writes 1 MiB' "$temporary/random"
run on get large
file 'a filled value of 1 MiB is in the belt' "$temporary/random"
printf x >>"$temporary/random"
is 'it writes a byte more' 4 '' "'cat' wrote more than 1048576 bytes" \
	on get larger --fill -- cat "$temporary/random"
value 'it writes nothing' '' on get nothing --fill -- true
is 'it fails' 7 '' "'sh' ended with status 7" on get x --fill -- sh -c 'echo half; exit 7'
is 'a command that failed has filled nothing' 1 '' "there is no entry 'x' in belt 'c'" on get x
value 'the right is the next one'\''s' next on get x --fill --wait 0 -- printf next
# shellcheck disable=SC2016 # expanded by the command
is 'a signal ends it' 143 '' "'sh' ended with status 143" \
	on get y --fill -- sh -c 'kill $$'
run on get y --fill -- /nonexistent/command
result 'there is no such command' "$(judge_status 127
	grep -q "cannot run '/nonexistent/command': No such file" "$temporary/err" ||
		cat "$temporary/err")"
run on get y --fill -- /
result 'it cannot be run' "$(judge_status 126)"
on advance 80s
value 'ahead of the end' anew on get k --fill --ahead 30s -- printf anew
value 'what was put is there' anew on get k
on advance 80s
run on get k --fill --ahead 30s -- false
printf anew >"$temporary/wanted"
result 'it fails ahead of the end: the value is good' "$(judge_status 0; same
	judge_error "'false' ended with status 1")"
on advance 30s
value 'one fills, though the old value would do' new \
	on get k --fill --stale -- printf new
on advance 101s
run on get k --fill --stale -- false
printf new >"$temporary/wanted"
result 'it fails, and the old value will do' "$(judge_status 0; same
	judge_error "'false' ended with status 1")"

# Ahead by a share of the life that is given to what is filled in
belt shares --ttl 5m
value 'a life of its own' 1 on get k --fill --ttl 1m --ahead 25% -- printf 1
value 'its share is its own as well' 1 on get k --fill --ttl 1m --ahead 25% -- printf 2
on advance 44s
value 'to the last moment' 1 on get k --fill --ttl 1m --ahead 25% -- printf 2
on advance 2s
value 'a command ahead of time puts the value anew' 2 on get k --fill --ttl 1m --ahead 25% -- printf 2
value 'a value put anew by a command has all of its life' 2 \
	on get k --fill --ttl 1m --ahead 25% -- printf 3
on put l 1
on advance 224s
value 'a share of the belt'\''s' 1 on get l --fill --ahead 25% -- printf 2
on advance 2s
value 'less is left' 2 on get l --fill --ahead 25% -- printf 2

# Belts that keep what is there
belt keeps --policy standard --ttl 100s --buckets 11
value 'it fills a belt that keeps' 1 on get k --fill -- printf 1
on advance 80s
value 'a command puts a value anew that is about to end' 2 on get k --fill --ahead 30s -- printf 2
value 'for all' 2 on get k
value 'who was faster has put the value' fast \
	on get l --fill -- sh -c 'hbctl -b keeps put l fast; printf slow'

# One for all
belt many --ttl 100s
rm -f "$log" "$go"
for number in $(seq 100); do
	hbctl -b many get k --fill -- "$temporary/compute" "$log" "$go" once \
		>"$temporary/many.$number" 2>&1 &
	pids="${pids:-} $!"
done
at_last lines "$log" 1
result 'ninety-nine wait for one' "$(at_last waiting 99 || echo 'they do not')"
touch "$go"
# shellcheck disable=SC2086 # words
end $pids
cat "$temporary"/many.* | sort | uniq -c | sed 's/^ *//' >"$temporary/out"
echo '100 once' >"$temporary/wanted"
result 'a hundred at once have the value' "$(same)"
echo run >"$temporary/wanted"
cp "$log" "$temporary/out"
result 'one of the clients has computed the value' "$(same)"
like 'stat: fills' 0 '*
fills: 1
*' '' on stat

# Who is killed, and who takes too long
belt killed --ttl 100s --buckets 11
rm -f "$log" "$go"
begin first k --fill --lease 1h -- "$temporary/compute" "$log" "$go" first
first=$last
at_last lines "$log" 1
begin second k --fill -- "$temporary/compute" "$log" "$go" second
second=$last
at_last asleep "$second"
begin third k --fill -- "$temporary/compute" "$log" "$go" third
third=$last
at_last asleep "$third"
kill -KILL "$first"
wait "$first" 2>/dev/null
at_last lines "$log" 2
result 'who is killed passes the right on, though his command runs' \
	"$(lines "$log" 2 || cat "$log")"
at_last asleep "$third"
result 'to one alone' "$(lines "$log" 2 || cat "$log"; asleep "$third" || echo awake)"
kill -KILL "$third"
wait "$third" 2>/dev/null
touch "$go"
ends 'who has it then fills' "$second" second 0 second ''
is 'for all' 0 second '' on get k
on clear
rm -f "$log" "$go"
begin first k --fill --lease 10s -- "$temporary/compute" "$log" "$go" first
first=$last
at_last lines "$log" 1
begin second k --fill -- "$temporary/compute" "$log" "$go" second
second=$last
at_last asleep "$second"
on advance 30s
result 'who takes longer than his lease loses the right' \
	"$(at_last lines "$log" 2 || cat "$log")"
touch "$go"
end "$first" "$second"
sort "$temporary/first.out" "$temporary/second.out" >"$temporary/out"
printf '%s\n' first second >"$temporary/wanted"
result 'a client that lost its fill lease prints its own value' "$(same)"

# What is in the way
belt full --max-entries 1
on put a 1
is 'no room to fill' 4 '' "belt 'full' is full: *" on get b --fill
value 'what is there needs none' 1 on get a --fill
chmod 666 /dev/hashbelt
hbctl create shown --mode 0644
hbctl -b shown put a 1
is 'nobody: no right to fill' 3 '' \
	"get --fill takes the right to read and to write belt 'shown'" \
	nobody -b shown get a --fill
chmod 600 /dev/hashbelt
belt gone
rm -f "$log" "$go"
begin first k --fill -- "$temporary/compute" "$log" "$go" first
first=$last
at_last lines "$log" 1
begin second k --fill -- echo second
second=$last
at_last asleep "$second"
hbctl destroy gone
ends 'the belt is destroyed under those who wait' "$second" second 3 '' \
	"belt 'gone' was destroyed: *"
touch "$go"
ends 'and under who fills' "$first" first 3 first "belt 'gone' was destroyed: *"
finish
