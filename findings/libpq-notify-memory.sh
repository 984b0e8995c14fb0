#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# libpq-notify-memory.sh - what libpq does when it has no memory for a notification.
#
# PQnotifies() of libpq 18 then closes the connection, and returns NULL, although PQconsumeInput() has
# returned 1 before. A descriptor that is closed leaves epoll without an event. So a program that waits for
# the socket as the manual says waits for ever, unless it asks PQstatus() after PQnotifies(). libpq 15
# drops the one notification and goes on.
#
# The server is a script with valid answers; malloc() of the client fails once. Needs root, gcc, python3,
# mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/server.py" <<'END'
import socket, struct
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
ready = b'Z' + struct.pack('>I', 5) + b'I'
def message(kind, body):
    return kind + struct.pack('>I', len(body) + 4) + body
while True:
    connection = listener.accept()[0]
    connection.recv(65536)
    connection.sendall(message(b'R', struct.pack('>I', 0)) + message(b'K', struct.pack('>II', 1, 2)) + ready)
    connection.recv(65536)
    connection.sendall(message(b'C', b'LISTEN\0') + ready)
    connection.recv(65536)
    connection.sendall(message(b'C', b'NOTIFY\0') + message(b'A', struct.pack('>I', 1) + b'c\0payload\0') + ready)
    connection.recv(65536)
END
cat >"$work/t.c" <<'END'
#include <libpq-fe.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
void *__libc_malloc(size_t size);
static int is_short;
void *malloc(size_t size)
{
	if (!is_short)
		return __libc_malloc(size);
	errno = ENOMEM;
	return NULL;
}
int main(int argc, char **argv)
{
	PGconn *c = PQconnectdb(argv[1]);
	struct pollfd p = { .events = POLLIN };
	int consumed, socket;
	PGnotify *n;

	if (PQstatus(c) != CONNECTION_OK)
		return fprintf(stderr, "%s", PQerrorMessage(c)), 1;
	PQclear(PQexec(c, "LISTEN c"));
	p.fd = PQsocket(c);
	PQsendQuery(c, "NOTIFY c, 'payload'");
	poll(&p, 1, 5000);
	poll(NULL, 0, 200);
	consumed = PQconsumeInput(c);
	is_short = 1;
	n = PQnotifies(c);
	is_short = 0;
	socket = PQsocket(c);
	printf("PQconsumeInput %d, PQnotifies %s, then PQstatus %s, PQsocket %s\n", consumed, n ? "one" : "NULL",
	       PQstatus(c) == CONNECTION_OK ? "OK" : "BAD", socket < 0 ? "-1" : "open");
	return 0;
}
END
python3 "$work/server.py" >"$work/port" &
server=$!
for release in sid bookworm; do
	mmdebstrap --quiet --variant=extract --include=libpq5,libpq-dev --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Install-Recommends "false"' $release "$work/$release" "$mirror" 2>/dev/null
	root=$work/$release
	library=$root/usr/lib/x86_64-linux-gnu
	loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
	gcc -I"$root/usr/include/postgresql" -o "$work/t" "$work/t.c" "$library/libpq.so.5" -Wl,--allow-shlib-undefined
	version=$(sed -n 's/^#define PG_VERSION "\(.*\)"/\1/p' "$root/usr/include/postgresql/pg_config.h" "$root"/usr/include/*/postgresql/pg_config.h 2>/dev/null | head -n 1)
	echo "libpq ${version%%.*}: $("$loader" --library-path "$library:$root/lib/x86_64-linux-gnu" "$work/t" \
		"host=127.0.0.1 port=$(cat "$work/port") user=x dbname=x sslmode=disable gssencmode=disable")"
	echo "# $version"
done >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
libpq 18: PQconsumeInput 1, PQnotifies NULL, then PQstatus BAD, PQsocket -1
libpq 15: PQconsumeInput 1, PQnotifies NULL, then PQstatus OK, PQsocket open
END
grep -v '^#' "$work/found" | diff "$work/expected" -
