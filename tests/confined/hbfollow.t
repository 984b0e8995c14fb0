#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# hbfollow.t - the unit of hbfollow does what hbfollow.8 says: the belt is cleared in whatever way the service
# ends, and the service has no more rights than it needs. Runs on a Debian with systemd and a Redis, in a guest
# of machine.sh.
# shellcheck disable=SC2016,SC2317 # commands for other shells; functions that "is" calls
set -u

# shellcheck source=tests/hbctl/tap.sh
. /payload/tests/hbctl/tap.sh
unit=hbfollow@pages

main_pid() {
	systemctl show $unit -p MainPID --value
}

# field NAME - print a field of the status of the service's process.
field() {
	awk -v name="$1:" '$1 == name { print $2 }' "/proc/$(main_pid)/status"
}

# inside COMMAND - run a command with the files that the service sees, as its user.
inside() {
	nsenter -t "$(main_pid)" -m -S "$(field Uid)" -G "$(field Gid)" -- sh -c "$1"
}

# drop_in - write lines of standard input as "systemctl edit" does.
drop_in() {
	mkdir -p /etc/systemd/system/$unit.service.d
	cat >/etc/systemd/system/$unit.service.d/override.conf
	systemctl daemon-reload
}

put() {
	hbctl -b pages put "$1" value
}

lacks() {
	! hbctl -b pages has "$1" >"$temporary/has" 2>&1
}

follows() {
	hbctl doctor >"$temporary/doctor" 2>&1
	grep -q "^ok      follow   belt 'pages' follows a primary of redis since " "$temporary/doctor"
}

# no_right - whether the service follows no belt.
no_right() {
	hbctl doctor >"$temporary/doctor" 2>&1
	grep -q "^advice  follow   hbfollow follows redis, but there is no belt 'pages', or it has no right" \
		"$temporary/doctor"
}

# is_restarted PID - whether the service has another process.
is_restarted() {
	now=$(main_pid)
	[ "$now" != 0 ] && [ "$now" != "$1" ]
}

# fails - whether the service has failed for good.
fails() {
	[ "$(systemctl is-failed "$unit")" = failed ]
}

# ends_by SIGNAL - check that the belt is cleared when the process gets a signal, and that another follows.
ends_by() {
	at_last follows || return
	before=$(main_pid)
	put old
	kill "-$1" "$before"
	at_last is_restarted "$before" || echo "SIG$1: no other process"
	at_last lacks old || echo "SIG$1: the belt is not cleared"
	at_last follows || echo "SIG$1: the other process does not follow"
}

systemctl start redis-server
hbctl create pages --ttl 1h
systemctl start $unit 2>"$temporary/started"
result "without a URL the service fails, and is not started again" "$(at_last fails || systemctl status $unit)"
systemctl reset-failed $unit
drop_in <<'END'
[Service]
Environment="URL=redis://127.0.0.1/?prefix=page:" "OPTIONS=--strip page:"
END
is "the service starts" 0 '' '' systemctl start $unit
result "hbctl doctor says that the service has no right to the belt of root" "$(
	at_last no_right || cat "$temporary/doctor")"
hbctl destroy pages
hbctl create pages --ttl 1h --group hashbelt --mode 0660
result "a belt that is open to the group is found, and hbctl doctor says that it follows" "$(at_last follows || cat "$temporary/doctor")"
put 1
put 2
redis-cli set page:1 x >"$temporary/out"
is "a changed key is removed" 0 '' '' at_last lacks 1
is "another key stays" 0 value '' sh -c 'hbctl -b pages get 2 && echo'
is "all users may read the figures" 0 1 '' runuser -u nobody -- \
	grep -c '^hbfollow_state{belt="pages",engine="redis"} 1$' /run/hbfollow/pages/figures.prom

# The rights of the service
result "the process belongs to no user of the machine" \
	"$(grep -q "^[^:]*:[^:]*:$(field Uid):" /etc/passwd && echo "uid $(field Uid)")"
is "it has no capability" 0 0000000000000000 '' field CapBnd
is "it cannot get rights by execve()" 0 1 '' field NoNewPrivs
is "a filter of system calls is in force" 0 2 '' field Seccomp
is "it sees the device of hashbelt" 0 '' '' inside 'test -c /dev/hashbelt'
is "it can write its own /tmp and its figures alone" 0 '/run/hbfollow/pages
/tmp' '' inside 'for d in / /dev /etc /run /run/hbfollow /run/hbfollow/pages /tmp /usr /var; do
	! touch $d/x || echo $d; done 2>/dev/null'
result "systemd rates the exposure below 1.5" \
	"$(systemd-analyze security --no-pager --threshold=14 $unit.service >"$temporary/rated" 2>&1 ||
		tail -n 1 "$temporary/rated")"

# Its ends
result "killed: the belt is cleared, and another process follows" "$(ends_by KILL)"
result "standing still: the belt is cleared, and another process follows" "$(ends_by STOP)"
result "ended: the belt is cleared, and another process follows" "$(ends_by TERM)"
put old
is "the service stops" 0 '' '' systemctl stop $unit
is "the belt is cleared then" 0 '' '' lacks old
is "its figures go with it" 1 '' '' test -e /run/hbfollow/pages
put old
systemctl stop redis-server
systemctl start $unit
is "the belt is cleared before the service counts as started, although no Redis runs" 0 '' '' lacks old
put old
is "it is cleared again while no Redis runs" 0 '' '' at_last lacks old
result "hbctl doctor says that the engine is lost" "$(hbctl doctor >"$temporary/doctor" 2>&1
	grep -q "^advice  follow   belt 'pages': redis is lost since " "$temporary/doctor" || cat "$temporary/doctor")"
systemctl start redis-server
result "it follows when Redis runs" "$(at_last follows || cat "$temporary/doctor")"
systemctl stop $unit

# A password that only root can read
(umask 077 && echo secret >/etc/hashbelt/follower.password)
redis-cli ACL SETUSER follower on '>secret' resetchannels '&__redis__:invalidate' +hello +info +ping +subscribe \
	'+client|tracking' >"$temporary/out"
redis-cli ACL SETUSER default resetpass '>other' >"$temporary/out"
drop_in <<'END'
[Service]
Environment="URL=redis://127.0.0.1/?prefix=page:"
Environment="OPTIONS=--user follower --password-file %d/password"
LoadCredential=password:/etc/hashbelt/follower.password
END
systemctl start $unit
result "it follows with a password" "$(at_last follows || journalctl --no-pager -u $unit)"
finish
