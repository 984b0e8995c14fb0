#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# git-cache-never-expires.sh - how long git-credential-cache keeps a password that is in use.
#
# "cache --timeout=900" keeps a password for 900 s, says the manual, so an engineer expects to be asked again a quarter
# of an hour after the answer. But git passes each password that a server accepts to all helpers, also to the one that
# it came from, and the daemon of the cache stores it anew, for the whole timeout. So a script that fetches more often
# than that is asked once, and never again: the timeout counts from the last use, and there is no other bound. Programs
# that only read ("git credential fill") do not renew it: for them it is gone after the timeout. Git 2.55.0; 2.39.5 of
# Debian 12 does the same.
#
# Needs root, python3, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
root=$work/root
server=
# git runs the daemons of the caches, which this ends.
trap '[ -z "$server" ] || kill "$server" 2>/dev/null
	for home in fetch fill; do
		HOME=/$home chroot "$root" /usr/bin/git credential-cache exit >/dev/null 2>&1 || true
	done
	rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
mmdebstrap --quiet --variant=extract --include=git=1:2.55.0-1,dash \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" \
	2>"$work/log" || {
	cat "$work/log"
	exit 1
}
for directory in bin lib lib64; do
	[ -e "$root/$directory" ] || ln -s "usr/$directory" "$root/$directory"
done
ln -sf dash "$root/usr/bin/sh"
mkdir -p "$root/dev"
[ -e "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
mkdir -m 0700 "$root/fetch" "$root/fill"

# A server that wants the name "user" and the password "secret".
cat >"$work/server.py" <<'END'
import base64
import functools
import http.server
import sys

RIGHT = 'Basic ' + base64.b64encode(b'user:secret').decode()


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve files to those who know the password."""

    def do_GET(self):
        """Answer with a file, or ask for a password."""
        if self.headers.get('Authorization') == RIGHT:
            super().do_GET()
            return
        self.send_response(401)
        self.send_header('WWW-Authenticate', 'Basic realm="server"')
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *_):
        """Log nothing."""


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Handler, directory=sys.argv[1]))
print(server.server_address[1], flush=True)
server.serve_forever()
END
# The person at the keyboard: counts how often git asks for the password.
cat >"$root/usr/bin/person" <<'END'
#!/bin/sh
case $1 in
User*)
	echo user
	;;
*)
	echo "asked" >>"$HOME/asked"
	echo secret
	;;
esac
END
chmod +x "$root/usr/bin/person"

# git_of HOME WORD... - run git of the root directory, which keeps passwords for 9 s.
git_of() {
	home=/$1
	shift
	env -i HOME="$home" PATH=/usr/bin GIT_ASKPASS=/usr/bin/person "$(command -v timeout)" 20 "$(command -v chroot)" \
		"$root" /usr/bin/git -c credential.helper='cache --timeout=9' "$@" 2>>"$work/log"
}

git_of fetch version
git_of fetch init --quiet --bare --template= /served/repository
git_of fetch --git-dir=/served/repository update-server-info
python3 "$work/server.py" "$root/served" >"$work/port" &
server=$!
while [ ! -s "$work/port" ]; do
	kill -0 $server
	sleep 0.1
done
url=http://127.0.0.1:$(cat "$work/port")/repository

# asked HOME - how often the person has been asked so far.
asked() {
	[ ! -e "$root/$1/asked" ] || count=$(wc -l <"$root/$1/asked")
	echo "${count:-0}"
}

fetch() {
	git_of fetch ls-remote "$url"
}

fill() {
	printf 'url=%s\n\n' "$url" | git_of fill credential fill >/dev/null
}

printf 'url=%s\nusername=user\npassword=secret\n\n' "$url" | git_of fill credential approve
for second in 0 4 8 12 16; do
	fetch
	case $second in
	4 | 12 | 16)
		fill
		;;
	esac
	echo "after $second s: asked $(asked fetch) times by fetches, $(asked fill) by reads"
	sleep 4
done >"$work/found"
sleep 9
fetch
echo "after 13 s without a fetch: asked $(asked fetch) times" >>"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
after 0 s: asked 1 times by fetches, 0 by reads
after 4 s: asked 1 times by fetches, 0 by reads
after 8 s: asked 1 times by fetches, 0 by reads
after 12 s: asked 1 times by fetches, 1 by reads
after 16 s: asked 1 times by fetches, 2 by reads
after 13 s without a fetch: asked 2 times
END
diff "$work/expected" "$work/found" || {
	cat "$work/log"
	exit 1
}
