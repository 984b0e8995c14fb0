#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kernel.sh FACT [rt] - the distribution's stock kernel, to build for and to boot; or the one
# that it builds with PREEMPT_RT.
#
#   version   its release, as in 6.1.0-56-amd64
#   headers   the directory a module is built against (make -C)
#   image     what to boot: its vmlinux
#
# The headers are installed. The image is not: installing a kernel would change
# what this machine boots. It is taken out of its package and kept by cache.sh,
# so that only the first call takes longer than a moment.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../cache.sh" vm)
meta=linux-headers-${2:+$2-}amd64

fail() {
	echo "kernel.sh: $1" >&2
	exit 1
}

# The headers may be of many versions; the one meant is what the metapackage
# asks for.
version() {
	dpkg-query -W -f '${Depends}' "$meta" |
		sed -n 's/^linux-headers-\([^ ,]*\).*/\1/p'
}

# word OFFSET BYTES - a number out of the image's header.
word() {
	od -An -j "$(($1))" -N "$2" -t "u$2" vmlinuz | tr -d ' '
}

# Turn vmlinuz into vmlinux, as described in the kernel's Documentation/x86/
# boot.rst: behind the setup sectors (their number is at 0x1f1), at an offset
# (0x248), are so many bytes (0x24c) of compressed kernel, the last four of
# which are no part of the archive. A guest that has to do this itself, on an
# emulated processor, takes twice as long to boot.
decompress() {
	offset=$((($(word 0x1f1 1) + 1) * 512 + $(word 0x248 4)))
	length=$(($(word 0x24c 4) - 4))
	tail -c "+$((offset + 1))" vmlinuz | head -c "$length" | xz -dc >vmlinux
}

# unpack VERSION - get the image out of the package lying here.
unpack() {
	apt-get download -q "linux-image-$1" &&
		dpkg-deb --fsys-tarfile ./*.deb |
		tar -x -O "./boot/vmlinuz-$1" >vmlinuz &&
		decompress
}

# fetch VERSION - get the image into the cache. It gets its name there by a
# rename, so nobody ever sees half of one.
fetch() {
	image=$cache/vmlinux-$1
	[ ! -s "$image" ] || return 0
	rm -rf "$cache/fetch"
	mkdir "$cache/fetch"
	(cd "$cache/fetch" && unpack "$1") >>"$log" 2>&1 || return 1
	mv "$cache/fetch/vmlinux" "$image"
	rm -r "$cache/fetch"
}

refresh() {
	apt-get update -q >>"$log" 2>&1
}

# The archive carries the newest kernel only. Headers installed a while ago may
# have no image left, and then have to follow it.
upgrade() {
	[ "$(id -u)" = 0 ] ||
		fail "no image for $(version): as root, upgrade $meta"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends "$meta" >>"$log" 2>&1
}

# Get all there is to get, one step dearer at a time.
provide() {
	"$here/../need.sh" "$meta" xz-utils || exit 1
	fetch "$(version)" && return
	refresh && fetch "$(version)" && return
	upgrade && fetch "$(version)" && return
	tail -n 20 "$log" >&2
	fail "cannot get the image of kernel $(version)"
}

ready() {
	release=$(version 2>/dev/null) && [ -n "$release" ] &&
		[ -d "/usr/src/linux-headers-$release" ] &&
		[ -s "$cache/vmlinux-$release" ]
}

case ${1-}-${2-rt} in
version-rt | headers-rt | image-rt) ;;
*) fail "usage: kernel.sh version|headers|image [rt]" ;;
esac

if ! ready; then
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	# One at a time: callers in parallel would fight over the package
	# manager, and each fetch the same.
	exec 9>"$cache/lock"
	flock 9
	provide
	ready || fail "headers and image of $(version) are not both there"
fi

case $1 in
version) echo "$release" ;;
headers) echo "/usr/src/linux-headers-$release" ;;
image) echo "$cache/vmlinux-$release" ;;
esac
