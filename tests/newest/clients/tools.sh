#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# tools.sh SOCKET PORT - list and copy the keys of a server by memcdump of libmemcached and memcached-tool of
# memcached. Prints the results of each.
set -eu

socket=$1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
tool=/usr/share/memcached/scripts/memcached-tool

# send - send requests. Prints the replies.
send() {
	# shellcheck disable=SC2016 # a program in PHP
	php -r '$server = stream_socket_client("unix://" . $argv[1]);
		fwrite($server, stream_get_contents(STDIN) . "quit\r\n");
		echo stream_get_contents($server);' "$socket" | tr -d '\r'
}

# show NAME COMMAND... - print the sorted lines of a command.
show() {
	name=$1
	shift
	"$@" | LC_ALL=C sort | cat -v | sed "s|^|$name: |; s/ *$//"
}

# hold NAME - print what is listed.
hold() {
	show "$1, memcdump" memcdump "--servers=$socket"
	show "$1, memcached-tool keys" perl $tool "$socket" keys 2>"$directory/said" | sed 's/ exp=.*//'
	perl $tool "$socket" dump 2>"$directory/said" >"$directory/dump"
	tr -d '\r' <"$directory/dump" | show "$1, memcached-tool dump" cat
}

hold "no entries"
printf 'set plain 7 0 5\r\nvalue\r\nset x-._~/ 0 0 9\r\nflush_all\r\nset empty 0 0 0\r\n\r\n' | send | uniq -c
hold "entries"
printf 'flush_all\r\n' | send
send <"$directory/dump" | uniq -c
hold "the same, copied"
printf 'ms AGEl/w== 1 b\r\nv\r\n' | send
hold "a key in base64"
printf 'flush_all\r\n' | send
# More than one answer takes.
# shellcheck disable=SC2016 # a program in PHP
php -r 'for ($i = 0; $i < 30000; $i++) echo "set ", str_repeat("k", 60), $i, " 0 0 1 noreply\r\nv\r\n";' | send
# memcached's part is a few keys larger or smaller from run to run.
case $(memcdump "--servers=$socket" | sort | uniq | wc -l) in
30000) echo "many entries, memcdump: all" ;;
2????) echo "many entries, memcdump: a part" ;;
esac
echo "many entries, memcached-tool keys: $(perl $tool "$socket" keys 2>"$directory/said" | sort | uniq | wc -l)"
memcping "--servers=$socket"
echo "in step: $?"
