#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# nginx-age-date.sh - how long nginx keeps a response that has been in another cache before.
#
# "Cache-Control: max-age=600" with "Age: 1000" has been stale for 400 s (RFC 9111, 4.2.3). But proxy_cache of nginx
# does not read Age: it serves the response as fresh for 600 s more, with the same Age all that time. So each nginx of
# a chain adds the whole max-age. It compares Expires with its own clock, and not with the Date of the response. If the
# origin's clock is an hour behind, nothing is cached. If the origin's clock is an hour ahead, a response is fresh for
# an hour more, also one that has expired when it is made. HAProxy reads Age, and does not compare Date either. nginx
# 1.30.6 and HAProxy 3.2.26.
#
# Needs root, python3, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
servers=
# shellcheck disable=SC2086 # process ids
trap '[ -z "$servers" ] || kill $servers 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=nginx=1.30.6-2,haproxy=3.2.26-1 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" \
	2>"$work/log" || {
	cat "$work/log"
	exit 1
}
cat >"$work/origin.py" <<'END'
import email.utils
import http.server
import os
import socketserver
import sys
import time

# The path: how far the origin's clock is ahead, and the headers of the response.
RESPONSES = {
    '/fresh': (0, {'Cache-Control': 'max-age=600'}),
    '/age': (0, {'Cache-Control': 'max-age=600', 'Age': '1000'}),
    '/on-time': (0, {'Expires': 600}),
    '/behind': (-3600, {'Expires': 600}),
    '/ahead': (3600, {'Expires': -600}),
}
served = 0


class Origin(http.server.BaseHTTPRequestHandler):
    """Answer with the number of the response."""

    protocol_version = 'HTTP/1.1'

    def address_string(self):
        """There is no address."""
        return 'cache'

    def log_message(self, *_):
        """Log nothing."""

    def do_GET(self):  # pylint: disable=invalid-name
        """Answer a GET."""
        global served  # pylint: disable=global-statement
        served += 1
        ahead, headers = RESPONSES[self.path]
        now = time.time() + ahead
        self.send_response_only(200)
        self.send_header('Date', email.utils.formatdate(now, usegmt=True))
        for name, value in headers.items():
            if isinstance(value, int):
                value = email.utils.formatdate(now + value, usegmt=True)
            self.send_header(name, value)
        body = str(served).encode()
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A server on a Unix socket."""

    daemon_threads = True


server = Server(f'{sys.argv[1]}/origin.new', Origin)
os.chmod(f'{sys.argv[1]}/origin.new', 0o666)
os.rename(f'{sys.argv[1]}/origin.new', f'{sys.argv[1]}/origin')
server.serve_forever()
END
cat >"$work/ask.py" <<'END'
import http.client
import socket
import sys


def ask(path, cache):
    """The response's number and its Age."""
    connection = http.client.HTTPConnection('cache')
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(f'{sys.argv[1]}/{cache}')
    connection.request('GET', path, headers={'Connection': 'close'})
    response = connection.getresponse()
    assert response.status == 200, response.status
    return response.read(), response.getheader('Age')


for name, path in (('600 s, made now', '/fresh'), ('600 s, Age 1000 s', '/age'),
                   ('Expires in 600 s', '/on-time'), ("Expires in 600 s by a clock an hour behind", '/behind'),
                   ("Expired 600 s ago by a clock an hour ahead", '/ahead')):
    for cache in 'nginx', 'haproxy':
        first, second = ask(path, cache), ask(path, cache)
        age = f', with Age {second[1]}' if cache == 'nginx' and second[1] else ''
        print(f"{name}: {cache} asks the origin {'once' if first[0] == second[0] else 'again'}{age}")
END
cat >"$work/nginx.conf" <<END
daemon off;
master_process off;
pid $work/nginx.pid;
error_log $work/log;
events {}
http {
	access_log off;
	client_body_temp_path $work/body;
	fastcgi_temp_path $work/fastcgi;
	proxy_temp_path $work/proxy;
	scgi_temp_path $work/scgi;
	uwsgi_temp_path $work/uwsgi;
	proxy_cache_path $work/cache keys_zone=cache:1m;
	server {
		listen unix:$work/nginx;
		location / {
			proxy_pass http://unix:$work/origin:;
			proxy_cache cache;
		}
	}
}
END
cat >"$work/haproxy.conf" <<END
defaults
	mode http
	timeout connect 30s
	timeout client 30s
	timeout server 30s
cache cache
	total-max-size 4
	max-age 6000
frontend clients
	bind unix@$work/haproxy
	http-request cache-use cache
	http-response cache-store cache
	default_backend origin
backend origin
	server origin unix@$work/origin
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)

# run PROGRAM WORD... - replace the shell by a program of the root directory.
run() {
	program=$1
	shift
	exec "$loader" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
		"$root/usr/sbin/$program" "$@"
}

(run nginx -e "$work/log" -v) 2>&1
(run haproxy -v) | cut -d ' ' -f 1-3 | head -n 1
python3 "$work/origin.py" "$work" &
servers=$!
run nginx -e "$work/log" -c "$work/nginx.conf" &
servers="$servers $!"
run haproxy -db -f "$work/haproxy.conf" >"$work/log" 2>&1 &
servers="$servers $!"
for socket in origin nginx haproxy; do
	while [ ! -S "$work/$socket" ]; do
		# shellcheck disable=SC2086 # process ids
		kill -0 $servers
		sleep 0.1
	done
done
timeout 60 python3 "$work/ask.py" "$work" >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
600 s, made now: nginx asks the origin once
600 s, made now: haproxy asks the origin once
600 s, Age 1000 s: nginx asks the origin once, with Age 1000
600 s, Age 1000 s: haproxy asks the origin again
Expires in 600 s: nginx asks the origin once
Expires in 600 s: haproxy asks the origin once
Expires in 600 s by a clock an hour behind: nginx asks the origin again
Expires in 600 s by a clock an hour behind: haproxy asks the origin again
Expired 600 s ago by a clock an hour ahead: nginx asks the origin once
Expired 600 s ago by a clock an hour ahead: haproxy asks the origin once
END
diff "$work/expected" "$work/found"
