#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# hbserve.t - the units of hbserve do what docs/hbserve.md and hbserve.8 say, and the service has no more
# rights than it needs. Runs on a Debian with systemd, in a guest of machine.sh.
# shellcheck disable=SC2016,SC2034,SC2317 # commands for other shells; shown.sh; functions that "is" calls
set -u

# shellcheck source=tests/confined/shown.sh
. /payload/tests/confined/shown.sh
document=hbserve.md
socket=/run/hashbelt/sessions.sock

# ask USER REQUESTS [ADDRESS] - send requests to an address of nc, the unix socket, as that user.
ask() {
	runuser -u "$1" -- sh -c "printf '$2' | timeout 60 nc -N ${3--U $socket} | tr -d '\r'"
}

# properties NAME - print a property of the service.
properties() {
	systemctl show hbserve@sessions -p "$1" --value
}

main_pid() {
	properties MainPID
}

# field NAME - print a field of the status of the service's process.
field() {
	awk -v name="$1:" '$1 == name { print $2 }' "/proc/$(main_pid)/status"
}

# inside COMMAND - run a command with the files that the service sees, as its user.
inside() {
	nsenter -t "$(main_pid)" -m -S "$(field Uid)" -G "$(field Gid)" -- sh -c "$1"
}

# stop - stop the service. systemctl warns that clients could start it again.
stop() {
	systemctl stop hbserve@sessions 2>"$temporary/stopped"
}

# is_restarted PID - whether the service has another process.
is_restarted() {
	now=$(main_pid)
	[ "$now" != 0 ] && [ "$now" != "$1" ]
}

# drop_in UNIT - write lines of standard input as "systemctl edit" does.
drop_in() {
	mkdir -p "/etc/systemd/system/$1.d"
	cat >"/etc/systemd/system/$1.d/override.conf"
	systemctl daemon-reload
}

run_shown '## From memcached in five minutes' 'sh -c'
run_shown '## Monitoring' 'sh -c'
hbctl -b sessions touch user:1 --ttl 1d
is "the socket belongs to root and the group hashbelt, with mode 0660" 0 'root hashbelt 660' '' \
	stat -c '%U %G %a' $socket
is "a member of the group gets what root has set" 0 'VALUE user:1 0 5
alice
END' '' ask alice 'get user:1\r\nquit\r\n'
result "a user outside of the group may not connect" \
	"$(ask nobody 'version\r\nquit\r\n' 2>&1 | grep -q 'Permission denied' || echo 'no refusal')"
result "hbctl doctor names the socket" "$(hbctl doctor >"$temporary/doctor" 2>&1
	grep -q "^ok      serve    processes of hbserve: 1; clients .* $socket" "$temporary/doctor" ||
		cat "$temporary/doctor")"

# The rights of the service
result "the process belongs to no user of the machine" \
	"$(grep -q "^[^:]*:[^:]*:$(field Uid):" /etc/passwd && echo "uid $(field Uid)")"
is "it has no capability" 0 0000000000000000 '' field CapBnd
is "it cannot get rights by execve()" 0 1 '' field NoNewPrivs
is "a filter of system calls is in force" 0 2 '' field Seccomp
is "it sees no device of a disk" 0 '' '' inside 'ls /dev | grep -E "^(vd|sd|kmsg|mem)" || true'
is "it sees the device of hashbelt" 0 '' '' inside 'test -c /dev/hashbelt'
is "it can write its own /tmp alone" 0 /tmp '' \
	inside 'for d in / /dev /etc /run /run/hashbelt /tmp /usr /var; do ! touch $d/x || echo $d; done 2>/dev/null'
result "systemd rates the exposure below 1" \
	"$(systemd-analyze security --no-pager --threshold=9 hbserve@sessions.service >"$temporary/rated" 2>&1 ||
		tail -n 1 "$temporary/rated")"

# Its life
first=$(main_pid)
kill -9 "$first"
result "systemd starts a process that was killed again" \
	"$(at_last is_restarted "$first" || systemctl status hbserve@sessions)"
is "the entries are there" 0 'VALUE user:1 0 5
alice
END' '' ask alice 'get user:1\r\nquit\r\n'
is "the service stops" 0 '' '' stop
is "its socket stops with it" 1 '' '' test -e $socket
is "the entries stay" 0 alice '' sh -c "hbctl -b sessions get user:1 && echo"
systemctl start hbserve@sessions.socket
is "the socket alone starts" 3 inactive '' systemctl is-active hbserve@sessions
is "a client starts the service" 0 'VALUE user:1 0 5
alice
END' '' ask alice 'get user:1\r\nquit\r\n'
is "it is active then" 0 active '' systemctl is-active hbserve@sessions
stop

# The lines of hbserve.8
drop_in hbserve@sessions.service <<'END'
[Service]
Environment="OPTIONS=--threads 8 --auth-file %d/users"
LoadCredential=users:/etc/hashbelt/users
END
drop_in hbserve@sessions.socket <<'END'
[Socket]
ListenStream=127.0.0.1:11211
END
(umask 077 && echo 'bob:secret' >/etc/hashbelt/users)
is "the service starts with a file of passwords that only root can read, and with TCP" 0 '' '' \
	systemctl start hbserve@sessions
is "a client of TCP without password is refused" 0 'CLIENT_ERROR unauthenticated' '' \
	ask alice 'get user:1\r\n' '127.0.0.1 11211'
is "a client of TCP with the password is served" 0 'STORED
VALUE user:1 0 5
alice
END' '' ask alice 'set x 0 0 10\r\nbob secret\r\nget user:1\r\nquit\r\n' '127.0.0.1 11211'
is "the password is in no entry" 1 '' "there is no entry 'x' *" hbctl -b sessions get x
stop
drop_in hbserve@sessions.service <<'END'
[Service]
ExecStartPre=+hbctl -b %i clear
END
is "the service starts with a command that clears its belt" 0 '' '' systemctl start hbserve@sessions
is "its clients find no entry of before" 0 END '' ask alice 'get user:1\r\nquit\r\n'
run_shown '## From Redis in five minutes' 'sh -c'
hbctl -b sessions put user:2 bob --ttl 1d
is "a client of Redis has the same entries at another socket" 0 '$3
bob' '' ask alice 'GET user:2\r\n' '-U /run/hashbelt/redis/sessions.sock'
is "both services run" 0 'active
active' '' systemctl is-active hbserve@sessions hbserve-redis@sessions
finish
