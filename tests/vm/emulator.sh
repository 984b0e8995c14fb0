#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# emulator.sh - print the path of an emulator of a PC that counts instructions of several processors. QEMU before 8.1
# may give one processor all the time up to each timer, and others none: a kernel hangs when it starts the second one.
# Where this machine has an older one, it is that of Debian 13, with its own C library.
#
# cache.sh keeps it. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

# is_new VERSION - true from 8.1 on.
is_new() {
	[ "$(printf '%s\n' 8.1 "$1" | sort -V | head -n 1)" = 8.1 ]
}

bootstrap() {
	extract trixie qemu-system-x86 "$work/root" --components=main
	libraries=usr/lib/x86_64-linux-gnu
	for part in $libraries usr/share/qemu usr/share/seabios; do
		mkdir -p "$work/${part%/*}"
		mv "$work/root/$part" "$work/$part"
	done
	mv "$work/root/usr/bin/qemu-system-x86_64" "$work"
	rm -rf "$work/root"
	cat >"$work/run" <<'END'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
libraries=$here/usr/lib/x86_64-linux-gnu
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$here/qemu-system-x86_64" \
	-L "$here/usr/share/qemu" -L "$here/usr/share/seabios" "$@"
END
	chmod +x "$work/run"
}

"$tests/need.sh" qemu-system-x86
if is_new "$(qemu-system-x86_64 --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')"; then
	command -v qemu-system-x86_64
	exit
fi
[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
keep vm emulator "an emulator of Debian 13" bootstrap
echo "$kept/run"
