#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# herd.sh TEST.litmus - run herd7 on a litmus test, with the Linux kernel's memory model.
#
# herd7 is in Debian's herdtools7. Without an installed one, this script extracts that of
# unstable, with its libraries (as root, once, about a minute). The model is in the kernel's source.
unset CDPATH

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

# assemble - unpack the memory model from the kernel's source, and herd7 unless it is installed.
assemble() {
	mkdir "$work/model"
	tar -xf "/usr/src/$source.tar.xz" -C "$work/model" --strip-components=3 \
		--wildcards '*/tools/memory-model/linux-kernel.*' '*/tools/memory-model/lock.cat'
	! command -v herd7 >/dev/null || return 0
	extract unstable herdtools7 "$work/root"
	find "$work/root/usr/bin" -type f ! -name herd7 -delete
}

[ $# = 1 ] || fail "usage: herd.sh TEST.litmus"
test=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
"$tests/need.sh" linux-source xz-utils || exit 1
# The package with the source of this release's kernel, which linux-source depends on.
source=$(dpkg-query -W -f '${Depends}' linux-source | tr ',' '\n' | sed -n 's/^ *\(linux-source-[^ ]*\).*/\1/p')
[ -n "$source" ] || fail "linux-source depends on no linux-source-VERSION"
keep models "herd-$(dpkg-query -W "$source" | sha256sum | cut -c 1-8)" herd7 assemble
cd "$kept/model"
[ -d ../root ] || exec herd7 -conf linux-kernel.cfg "$test"
libraries=$(echo ../root/usr/lib/*-linux-gnu)
exec "$libraries"/ld-linux-*.so.* --library-path "$libraries" ../root/usr/bin/herd7 \
	-set-libdir ../root/usr/share/herdtools7/herd -conf linux-kernel.cfg "$test"
