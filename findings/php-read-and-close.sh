#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# php-read-and-close.sh - how long a session of PHP lives that is read all the time.
#
# A session lives for session.gc_maxlifetime after its last use. session_start(['read_and_close' => true]) is for
# requests that only read, as those that a page sends in the background, so that they do not wait for each other. It
# does not renew the session: PHP does that when it closes a session that was not changed, and this one is closed
# already. So a user whose page asks each second is logged out 4 s after the login, with PHP's files as well as with
# Redis. session_start() without this option, which changes nothing either, keeps the session. PHP 8.2 with phpredis
# 5.3.7 and Redis 7.0.15 of Debian 12.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=redis-tools=5:7.0.15-1~deb12u7,php8.2-cli,php8.2-redis=5.3.7+4.3.0-3 \
	--aptopt='APT::Install-Recommends "false"' bookworm "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
mkdir "$root/sessions"
cat >"$root/request.php" <<'END'
<?php
// request.php HANDLER ID [login | read_and_close] - a request of the session ID.
[, $handler, $id] = $argv;
$kind = $argv[3] ?? '';
ini_set('session.save_handler', $handler);
ini_set('session.save_path', $handler == 'files' ? '/sessions' : 'unix:///socket');
ini_set('session.gc_maxlifetime', '4');
// Each request removes the old sessions of others.
ini_set('session.gc_probability', '1');
ini_set('session.gc_divisor', '1');
ini_set('session.use_cookies', '0');
ini_set('session.cache_limiter', '');
session_id($id);
session_start($kind == 'read_and_close' ? ['read_and_close' => true] : []);
if ($kind == 'login') {
    $_SESSION['user'] = 'alice';
}
echo $_SESSION['user'] ?? 'nobody', "\n";
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
"$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
	"$root/usr/bin/redis-check-rdb" --port 0 --unixsocket "$root/socket" --save '' --dir "$work" >"$work/log" &
server=$!
while [ ! -S "$root/socket" ]; do
	kill -0 $server
	sleep 0.1
done

# request HANDLER ID [KIND] - make a request.
request() {
	timeout 20 chroot "$root" /usr/bin/php8.2 -n -d extension=igbinary.so -d extension=redis.so /request.php "$@"
}

# use HANDLER [KIND] - log in, make a request of this kind each second for 7 s, and print who it finds at last.
use() {
	handler=$1 kind=${2:-read and write}
	shift
	request "$handler" "$id" login >"$work/user"
	for _ in 1 2 3 4 5 6 7; do
		sleep 1
		request "$handler" "$id" "$@" >"$work/user"
	done
	# The collector keeps the session of its own request.
	request "$handler" other >/dev/null
	request "$handler" "$id" >"$work/user"
	echo "$handler, $kind: $(cat "$work/user")"
	id=${id}x
}

id=session
# shellcheck disable=SC2016 # for PHP
timeout 20 chroot "$root" /usr/bin/php8.2 -n -d extension=igbinary.so -d extension=redis.so \
	-r 'echo "PHP ", PHP_VERSION, " with phpredis ", phpversion("redis"), "\n";'
{
	for handler in files redis; do
		use "$handler"
		use "$handler" read_and_close
	done
} >"$work/found"
echo "Seven seconds after a login that is kept for 4 s, with a request each second:"
cat "$work/found"
cat >"$work/expected" <<'END'
files, read and write: alice
files, read_and_close: nobody
redis, read and write: alice
redis, read_and_close: nobody
END
diff "$work/expected" "$work/found"
