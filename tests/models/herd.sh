#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# herd.sh TEST.litmus - run herd7 on a litmus test, with the Linux kernel's memory model.
#
# herd7 is in Debian's herdtools7. Without an installed one, this script extracts that of
# unstable, with its libraries, from a temporary root directory (as root, once, about a
# minute). The model is in the kernel's source. cache.sh keeps both; they are made again
# when this script or the kernel's source has changed.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../cache.sh" models)
key='' work='' source=''

fail() {
	echo "herd.sh: $1" >&2
	exit 1
}

trap '[ -z "$work" ] || rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# find_source - print the package with the source of this release's kernel, which linux-source depends on.
find_source() {
	dpkg-query -W -f '${Depends}' linux-source | tr ',' '\n' | sed -n 's/^ *\(linux-source-[^ ]*\).*/\1/p'
}

fingerprint() {
	{
		cat "$here/herd.sh"
		dpkg-query -W "$source"
	} | sha256sum | cut -c 1-16
}

# mirror - print the first mirror of Debian in apt's sources.
mirror() {
	# shellcheck disable=SC2016 # for apt-get to expand
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' |
		sed -n 's|/*$||; /\/debian$/p' | sort -u | head -n 1
}

# system DIRECTORY - make a small root directory of unstable with herd7. Its package lists may be
# older than their Valid-Until date allows.
system() {
	"$here/../need.sh" mmdebstrap || exit 1
	[ "$(id -u)" = 0 ] ||
		fail "herd7 is missing: install herdtools7, or run as root to get it from unstable"
	site=$(mirror)
	[ -n "$site" ] ||
		fail "herd7 is missing, and apt has no mirror of Debian: install herdtools7"
	mmdebstrap --variant=apt --components=main --include=herdtools7 \
		--aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		unstable "$1" "$site" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log" >&2
		fail "cannot get herdtools7 from $site unstable"
	}
}

# take DIRECTORY - copy herd7 and its libraries from that root directory.
take() {
	chroot "$1" ldd /usr/bin/herd7 | awk '$3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' |
		while read -r library; do
			cp -L "$1$library" "$work/kept/lib/"
		done
	cp "$1/usr/bin/herd7" "$work/kept/"
	cp -RL "$1/usr/share/herdtools7/herd" "$work/kept/herd"
	cat >"$work/kept/run" <<-'END'
		#!/bin/sh
		at=$(cd "$(dirname "$0")" && pwd)
		exec "$at"/lib/ld-*.so.* --library-path "$at/lib" "$at/herd7" -set-libdir "$at/herd" "$@"
	END
	chmod 755 "$work/kept/run"
}

# model - unpack the memory model from the kernel's source.
model() {
	tar -xf "/usr/src/$source.tar.xz" -C "$work/kept/model" --strip-components=3 \
		--wildcards '*/tools/memory-model/linux-kernel.*' \
		'*/tools/memory-model/lock.cat' || fail "no memory model in $source"
}

# make_ready - put herd7 and the model into the cache. A rename makes that atomic.
make_ready() {
	work=$(mktemp -d "$cache/work.XXXXXX")
	mkdir -p "$work/kept/lib" "$work/kept/model"
	model
	if command -v herd7 >/dev/null; then
		# shellcheck disable=SC2016
		printf '#!/bin/sh\nexec herd7 "$@"\n' >"$work/kept/run"
		chmod 755 "$work/kept/run"
	else
		echo "herd.sh: getting herd7 from Debian unstable (once)" >&2
		system "$work/system"
		take "$work/system"
	fi
	mv "$work/kept" "$cache/$key"
	rm -rf "$work"
	work=
	find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
}

[ $# = 1 ] || fail "usage: herd.sh TEST.litmus"
test=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
"$here/../need.sh" linux-source xz-utils || exit 1
source=$(find_source)
[ -n "$source" ] || fail "linux-source depends on no linux-source-VERSION"
key=$(fingerprint)
exec 9>"$cache/lock"
flock 9
[ -x "$cache/$key/run" ] || make_ready
touch "$cache/$key"
exec 9>&-
cd "$cache/$key/model"
exec ../run -conf linux-kernel.cfg "$test"
