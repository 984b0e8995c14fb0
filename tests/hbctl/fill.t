#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# fill.t - hbctl get --fill: one miss, one fill. Which client gets the fill lease, which
# wait, which take the stale value, and what becomes of the lease when a command fails or
# its hbctl is killed.
# shellcheck disable=SC2016,SC2086,SC2317 # scripts of other shells; words; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

log=$temporary/log
go=$temporary/go

# A command that logs its start, ignores SIGTERM, and ends once the file $2 exists.
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

# begin NAME ARGUMENT... - run get in the background; sets $last
begin() {
	name=$1
	shift
	hbctl -b "$belt" get "$@" >"$temporary/$name.out" 2>"$temporary/$name.err" &
	last=$!
}

# waiting NUMBER - whether so many of the processes in $pids are in an ioctl
waiting() {
	[ "$(for pid in $pids; do
		cat "/proc/$pid/syscall"
	done | grep -c "^$ioctl ")" = "$1" ]
}

# filling NAME ARGUMENT... - run get --fill in the background, with a command that prints what is
# written into the FIFO NAME.go; wait until the command runs. Sets $last
filling() {
	rm -f "$temporary/$1.go" "$temporary/$1.log"
	mkfifo "$temporary/$1.go"
	begin "$@" -- sh -c 'echo run >>"$0.log"; exec cat "$0.go"' "$temporary/$1"
	at_last test -s "$temporary/$1.log"
}

# filled NAME PID VALUE - let that command print VALUE, and wait for its get --fill. Sets $status
filled() {
	is_gone "$2" || echo "$3" >"$temporary/$1.go"
	end "$2"
	cp "$temporary/$1.out" "$temporary/out"
	cp "$temporary/$1.err" "$temporary/err"
}

# absent COMMAND... - run hbctl for the key k, which may have no entry
absent() {
	on "$@" k 2>"$temporary/absent"
}

# wake - print the belt time at which the worker runs next: the end of the only lease
wake() {
	on info --json | sed 's/.*"wake_ns":\([0-9]*\).*/\1/'
}

# renewed WAKE - whether the only lease ends at another time than WAKE. The worker looks anew when
# belt time moves.
renewed() {
	on advance 1ms
	[ "$(wake)" != "$1" ]
}

# lines FILE NUMBER - whether the file has so many lines
lines() {
	[ -e "$1" ] && [ "$(wc -l <"$1")" = "$2" ]
}

# ends NAME PID OUTPUT STATUS OUT ERR - the process ends with STATUS and has printed OUT
ends() {
	end "$2"
	cp "$temporary/$3.out" "$temporary/out"
	cp "$temporary/$3.err" "$temporary/err"
	want "$5"
	result "$1" "$(check_status "$4"; same; check_error "$6")"
}

belt f --ttl 100s --buckets 11 --grace 1m

# The fill lease
on put k 1
value 'get --fill of a present key prints the value' 1 on get k --fill
json 'get --fill --json of a present key prints the entry, granted false' 0 \
	'{"key":"k","version":N,"flags":0,"ttl_ms":100000,"value_len":1,"value":"1","stale":false,"granted":false}' \
	'' on get k --fill --json
is 'the first get --fill of a missing key gets the fill lease' 1 '' \
	"'m' in belt 'f' is yours to fill (token [1-9]*)" on get m --fill
is 'a second get --fill of a missing key exits with 5' 5 '' \
	"another caller is filling 'm' in belt 'f'" on get m --fill
json 'the first get --fill --json of a missing key prints granted true' 1 \
	'{"key":"j","stale":false,"granted":true,"token":N}' \
	"'j' in belt 'f' is yours *" on get j --fill --json
json 'a second get --fill --json of a missing key prints granted false' 5 \
	'{"key":"j","stale":false,"granted":false}' 'another caller is *' on get j --fill --json
is 'get --fill -e takes an escaped key' 1 '' "'x\\\\ty' in belt 'f' is yours *" \
	on get -e 'x\ty' --fill
is 'get --fill --wait 0 exits with 5 while another has the fill lease' 5 '' \
	"another caller is filling 'm' in belt 'f'" on get m --fill --wait 0

# Waiting
belt w --ttl 100s --buckets 11
on get k --fill --lease 1h 2>/dev/null
begin a k --fill --wait forever
waiter=$last
at_last asleep "$waiter"
on put k filled
end "$waiter"
printf filled >"$temporary/wanted"
cp "$temporary/a.out" "$temporary/out"
result 'get --fill --wait prints the value that is put' "$(same)"
on rm k
on get k --fill --lease 1h 2>/dev/null
begin a k --fill --wait 1m
waiter=$last
at_last asleep "$waiter"
on advance 2m
ends 'get --fill --wait exits with 5 when its time is over' "$waiter" a 5 '' \
	"another caller is filling 'k' in belt 'w', and took longer than one would wait"
begin a k --fill --wait 2h
waiter=$last
at_last asleep "$waiter"
on advance 1h
ends 'get --fill --wait gets the fill lease when that of another ends' "$waiter" a 1 '' \
	"'k' in belt 'w' is yours *"
on put k 1

# Stale values
belt old --ttl 100s --buckets 11 --grace 1m
on put k before
on advance 101s
run on get k --fill --lease 1h --stale
printf before >"$temporary/wanted"
result 'get --fill --stale prints the expired value and gets the fill lease' "$(check_status 0; same
	check_error "'k' in belt 'old' is yours *")"
json 'get --fill --stale --json prints stale true' 0 \
	'{"key":"k","version":N,"flags":0,"ttl_ms":0,"value_len":6,"value":"before","stale":true,"granted":false}' \
	'' on get k --fill --stale --json

# Removed values that stay
on load <<-'EOF'
	left:1	a
	left:2	b
EOF
is 'rm --prefix --stale prints the number of removed entries' 0 2 '' on rm --prefix left: --stale
run on get left:2 --fill --stale
printf b >"$temporary/wanted"
result 'get --fill --stale prints a value that rm --prefix --stale has left' "$(check_status 0; same
	check_error "'left:2' in belt 'old' is yours *")"
belt plain --ttl 100s
on put k 1
is 'rm --stale on a belt without a grace time says what it needs' 4 '' \
	"belt 'plain' keeps no value that has expired: --stale needs 'hbctl set --grace D', *" \
	on rm k --stale
is 'rm --prefix --stale on a belt without a grace time says what it needs' 4 '' \
	"belt 'plain' keeps no value that has expired: *" on rm --prefix k --stale
value 'a refused rm --stale leaves the entry' 1 on get k

# Commands
belt c --ttl 100s --buckets 11 --grace 1m
value 'get --fill with a command prints what the command wrote' made on get k --fill -- printf made
value 'get --fill of a present key does not run the command' made on get k --fill -- printf again
is 'the command of get --fill gets its arguments' 0 '-l --json k' '' \
	on get args --fill -- echo -l --json k
is 'the command of get --fill reads the stdin of hbctl' 0 here '' sh -c \
	'echo here | hbctl -b c get stdin --fill -- cat'
json 'get --fill --json with a command prints the entry, granted true' 0 \
	'{"key":"j","version":N,"flags":0,"ttl_ms":7000,"value_len":3,"value":"now","stale":false,"granted":true,"token":N}' \
	'' on get j --fill --ttl 7s --json -- printf now
like 'get --fill --ttl with a command sets this time-to-live' 0 '*"ttl_ms":7000,*' '' \
	on has j --json
value 'get --fill with a command takes a key with a dash after --' made \
	on get --fill -- -k -- printf made
run on get -v t --fill --ttl never -- printf x
result 'get -v --fill --ttl never prints that the ttl is never' \
	"$(grep -q '^ttl: never' "$temporary/err" || cat "$temporary/err")"
head -c 1048576 /dev/urandom >"$temporary/random"
run on get large --fill -- cat "$temporary/random"
file 'get --fill prints 1 MiB that the command wrote' "$temporary/random"
printf x >>"$temporary/random"
is 'get --fill exits with 4 if the command writes 1 MiB and a byte' 4 '' \
	"'cat' wrote more than 1048576 bytes" on get larger --fill -- cat "$temporary/random"
value 'get --fill prints nothing if the command writes nothing' '' on get nothing --fill -- true
is 'get --fill exits with the status of a command that fails' 7 '' "'sh' ended with status 7" \
	on get x --fill -- sh -c 'echo half; exit 7'
value 'the fill lease is free after a command that failed' next \
	on get x --fill --wait 0 -- printf next
is 'get --fill exits with 143 if SIGTERM ends the command' 143 '' "'sh' ended with status 143" \
	on get y --fill -- sh -c 'kill $$'
run on get y --fill -- /nonexistent/command
result 'get --fill exits with 127 for a command that does not exist' "$(check_status 127
	grep -q "cannot run '/nonexistent/command': No such file" "$temporary/err" ||
		cat "$temporary/err")"
run on get y --fill -- /
result 'get --fill exits with 126 for a command that cannot be run' "$(check_status 126)"
on advance 80s
value 'get --fill --ahead runs the command and prints what it wrote' anew \
	on get k --fill --ahead 30s -- printf anew
on advance 80s
run on get k --fill --ahead 30s -- false
printf anew >"$temporary/wanted"
result 'get --fill --ahead prints the old value if the command fails' "$(check_status 0; same
	check_error "'false' ended with status 1")"
on advance 30s
value 'get --fill --stale runs the command and prints what it wrote' new \
	on get k --fill --stale -- printf new
on advance 101s
run on get k --fill --stale -- false
printf new >"$temporary/wanted"
result 'get --fill --stale prints the expired value if the command fails' "$(check_status 0; same
	check_error "'false' ended with status 1")"

# Ahead by a share of the time-to-live that the filled value gets
belt shares --ttl 5m
value 'get --fill --ttl 1m --ahead 25% runs the command for a missing key' 1 \
	on get k --fill --ttl 1m --ahead 25% -- printf 1
value 'get --fill --ahead 25% does not run the command at a full ttl' 1 \
	on get k --fill --ttl 1m --ahead 25% -- printf 2
on advance 44s
value 'get --fill --ahead 25% does not run the command with 16 of 60 s left' 1 \
	on get k --fill --ttl 1m --ahead 25% -- printf 2
on advance 2s
value 'get --fill --ahead 25% runs the command with 14 of 60 s left' 2 \
	on get k --fill --ttl 1m --ahead 25% -- printf 2
value 'a value put by get --fill --ahead has its full ttl again' 2 \
	on get k --fill --ttl 1m --ahead 25% -- printf 3
on put l 1
on advance 224s
value 'get --fill --ahead 25% does not run the command with 76 of 300 s left' 1 \
	on get l --fill --ahead 25% -- printf 2
on advance 2s
value 'get --fill --ahead 25% runs the command with 74 of 300 s left' 2 \
	on get l --fill --ahead 25% -- printf 2

# Why a value is not stored
belt over --ttl 2h --buckets 11
filling late k -v --fill
on put k FRESH
filled late "$last" OLD
want OLD
result 'get -v --fill says that another process has put the key' "$(check_status 0; same
	check_error "the value is not stored: another process has put 'k' in belt 'over' meanwhile")"
value 'a fill that is late leaves the value that was put meanwhile' FRESH on get k
on rm k
filling late k -v --fill
absent rm
filled late "$last" OLD
want OLD
result 'get -v --fill says that the key was removed meanwhile, or the fill lease was over' "$(
	check_status 0; same
	check_error "the value is not stored: 'k' in belt 'over' was removed or expired meanwhile, *")"
filling late k --json --fill
absent rm
filled late "$last" OLD
normalize "$temporary/out"
want '{"key":"k","value_len":4,"value":"OLD\n","stale":false,"granted":true,"token":N,"stored":false}'
result 'get --fill --json prints stored false for a value that is not stored' \
	"$(check_status 0; same; check_error '')"

# Fill leases are renewed. Belt time stands while hbctl does that by the clock of the machine.
belt long --ttl 2h --buckets 11
rm -f "$log"
mkfifo "$temporary/fifo"
pids=
for i in 1 2 3 4; do
	begin "long$i" k --fill --lease 3s -- sh -c 'echo run >>"$0"; exec cat "$1"' "$log" \
		"$temporary/fifo"
	pids="$pids $last"
done
at_last lines "$log" 1
at_last waiting 3
for i in 1 2 3; do
	on advance 2s
	at_last renewed "$(wake)" || echo "# the fill lease was not renewed after $((2 * i)) s"
done
result 'three callers wait while a command runs for twice its lease' "$(
	waiting 3 || echo 'they do not'; lines "$log" 1 || cat "$log")"
echo computed >"$temporary/fifo"
end $pids
cat "$temporary"/long?.out "$temporary"/long?.err >"$temporary/out"
want "$(printf '%s\n' computed computed computed computed)"
result 'four callers of a command that takes twice its lease print the same value' "$(same)"
result 'one of four callers runs a command that takes twice its lease' \
	"$(lines "$log" 1 || cat "$log")"
on put k OLDER --ttl 10s
filling ahead k --fill --lease 3s --ahead 1m
for i in 1 2 3; do
	on advance 2s
	at_last renewed "$(wake)" || echo "# the fill lease was not renewed after $((2 * i)) s"
done
value 'a fill ahead of time keeps its lease while its command runs for twice as long' OLDER \
	on get k --fill --ahead 1m
filled ahead "$last" NEWER
is 'a fill ahead of time that takes twice its lease is stored' 0 NEWER '' on get k
on rm k
filling killed k --fill --lease 1h
kill -KILL "$last"
wait "$last" 2>/dev/null
run on get k --fill --wait 1h -- echo next
want next
result 'the fill lease that hbctl renews ends when hbctl is killed' "$(check_status 0; same)"

# Scripts: the token, and a put on condition of the lease
belt script --ttl 100s --buckets 11
run on get k --fill --print-token
token=$(cat "$temporary/out")
result 'get --fill --print-token prints the token of the fill lease and exits with 1' "$(
	check_status 1; check_error ''
	[ "$token" -gt 0 ] && [ "$(wc -l <"$temporary/out")" = 1 ] || echo "found: $token")"
is 'get --fill --print-token exits with 5 while another caller has the fill lease' 5 '' \
	"another caller is filling 'k' in belt 'script'" on get k --fill --print-token
is 'put --if-lease of another token exits with 1' 1 '' \
	"the fill lease of 'k' in belt 'script' has ended, so the value is not stored: *" \
	on put k 1 --if-lease $((token + 1))
is 'put --if-lease of the token exits with 0' 0 '' '' on put k 1 --if-lease "$token"
value 'get prints what put --if-lease has put' 1 on get k
is 'get --fill --print-token whose token cannot be printed gives the lease up' 4 '' \
	'cannot write the output: No space left on device: the fill lease is given up' \
	sh -c 'exec hbctl -b script get full --fill --print-token >/dev/full'
is 'get --fill --json whose token cannot be printed gives the lease up' 4 '' \
	'cannot write the output: No space left on device: the fill lease is given up' \
	sh -c 'exec hbctl -b script get full --fill --json >/dev/full'
is 'the next get --fill gets the lease that was given up' 1 '' "'full' in belt 'script' is yours to fill *" \
	on get full --fill
on rm full 2>/dev/null
is 'put --if-lease --json of a token that has ended prints the errno' 1 '' \
	"the fill lease of 'k' in belt 'script' has ended, *" on put k 2 --if-lease "$token" --json
on put k 1
on advance 80s
run on get k --fill --ahead 30s --print-token
token=$(cat "$temporary/out")
result 'get --fill --ahead --print-token prints the token in place of the value' "$(
	check_status 1; check_error ''; [ "$token" -gt 1 ] || echo "found: $token")"
value 'a second get --fill --ahead --print-token prints the value' 1 \
	on get k --fill --ahead 30s --print-token
is 'put --if-lease replaces a value ahead of time' 0 '' '' on put k 2 --if-lease "$token"
json 'get --fill --print-token --json prints the token in the object' 1 \
	'{"key":"l","stale":false,"granted":true,"token":N}' '' on get l --fill --print-token --json
# Failures that are shared
belt failing --ttl 100s --buckets 11 --grace 1h
rm -f "$log" "$go"
cat >"$temporary/fails" <<'END'
#!/bin/sh
echo run >>"$1"
until [ -e "$2" ]; do
	sleep 0.01
done
echo 'it is broken' >&2
exit 7
END
chmod 755 "$temporary/fails"
pids=
for i in 1 2 3 4; do
	begin "fail$i" k --fill --retry-after 20s -- "$temporary/fails" "$log" "$go"
	pids="$pids $last"
done
at_last lines "$log" 1
at_last waiting 3
touch "$go"
for pid in $pids; do
	end "$pid"
	echo "$status"
done >"$temporary/statuses"
sort "$temporary/statuses" >"$temporary/out"
want "$(printf '%s\n' 6 6 6 7)"
result 'three callers that wait exit with 6 when a command with --retry-after fails' "$(same)"
result 'one of four callers runs a command with --retry-after that fails' \
	"$(lines "$log" 1 || cat "$log")"
cat "$temporary"/fail?.err | sort >"$temporary/out"
failed="hbctl: the last fill of 'k' in belt 'failing' has failed, and is not tried again yet"
want "$(printf '%s\n' "$failed" "$failed" "$failed" "hbctl: '$temporary/fails' ended with status 7" \
	'it is broken' | sort)"
result 'the stderr of a command with --retry-after that fails is shown once' "$(same)"
is 'get --fill within --retry-after of a failure exits with 6' 6 '' "${failed#hbctl: }" \
	on get k --fill
is 'get --fill with a command within --retry-after of a failure does not run it' 6 '' \
	"${failed#hbctl: }" on get k --fill -- echo again
json 'get --fill --json within --retry-after of a failure prints failed true' 6 \
	'{"key":"k","stale":false,"granted":false,"failed":true}' "${failed#hbctl: }" \
	on get k --fill --json
on advance 21s
run on get k --fill --retry-after 1h -- false
result 'the command of --retry-after exits with its own status' "$(check_status 1)"
on put k again
on advance 80s
run on get k --fill --ahead 30s --retry-after 10s --json -- false
normalize "$temporary/out"
want '{"key":"k","version":N,"flags":0,"ttl_ms":20000,"value_len":5,"value":"again","stale":false,"granted":true,"token":N,"failed":true}'
result 'get --fill --ahead --retry-after --json prints the old value and failed true' \
	"$(check_status 0; same)"
value 'get --fill --ahead within --retry-after of a failure prints the old value' again \
	on get k --fill --ahead 30s -- printf anew
on advance 112s
run on get k --fill --stale --retry-after 10s -- false
printf again >"$temporary/wanted"
result 'get --fill --stale --retry-after prints the old value if the command fails' \
	"$(check_status 0; same; check_error "'false' ended with status 1")"
value 'get --fill --stale within --retry-after of a failure prints the old value' again \
	on get k --fill --stale -- printf newer
is 'get --fill without --stale within --retry-after of a failure exits with 6' 6 '' \
	"${failed#hbctl: }" on get k --fill -- echo newer

# Full belts, missing rights, destroyed belts
belt full --max-entries 1
on put a 1
is 'get --fill of a missing key on a belt at max_entries exits with 4' 4 '' \
	"belt 'full' is full: *" on get b --fill
chmod 666 /dev/hashbelt
hbctl create shown --mode 0644
hbctl -b shown put a 1
is 'user nobody: get --fill on a belt of mode 0644 exits with 3' 3 '' \
	"get --fill takes the right to read and to write belt 'shown'" nobody -b shown get a --fill
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
ends 'a waiting get --fill exits with 3 when its belt is destroyed' "$second" second 3 '' \
	"belt 'gone' was destroyed: *"
touch "$go"
ends 'get --fill with the fill lease exits with 3 when its belt is destroyed' \
	"$first" first 3 first "belt 'gone' was destroyed: *"
finish
