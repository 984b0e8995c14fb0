#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh FACT [rt] - print a fact about Debian's stock kernel, or about its kernel with
# PREEMPT_RT.
#
#   version   its release, such as 6.1.0-56-amd64
#   headers   the directory to build a module against (make -C)
#   image     the file to boot: its vmlinux
#
# The headers are installed. The image is not, because installing a kernel would change
# what this machine boots. The script extracts the image from its package; cache.sh keeps
# it, so only the first call takes long.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
cache=$("$here/../cache.sh" vm)
meta=linux-headers-${2:+$2-}amd64

fail() {
	echo "kernel.sh: $1" >&2
	exit 1
}

# version - print the version that the metapackage depends on: headers of others may be installed.
version() {
	dpkg-query -W -f '${Depends}' "$meta" |
		sed -n 's/^linux-headers-\([^ ,]*\).*/\1/p'
}

# word OFFSET BYTES - print a number in the image's header.
word() {
	od -An -j "$(($1))" -N "$2" -t "u$2" vmlinuz | tr -d ' '
}

# decompress - turn vmlinuz into vmlinux, as described in the kernel's Documentation/x86/
# boot.rst. After the setup sectors (their number is at 0x1f1), at an offset (0x248), there
# is the compressed kernel; its length is at 0x24c, and the last four bytes are no part of
# the archive. A guest that decompresses it on an emulated processor takes twice as long to
# boot.
decompress() {
	offset=$((($(word 0x1f1 1) + 1) * 512 + $(word 0x248 4)))
	length=$(($(word 0x24c 4) - 4))
	tail -c "+$((offset + 1))" vmlinuz | head -c "$length" | xz -dc >vmlinux
}

# unpack VERSION - download the package, and extract the image from it.
unpack() {
	apt-get download -q "linux-image-$1" &&
		dpkg-deb --fsys-tarfile ./*.deb |
		tar -x -O "./boot/vmlinuz-$1" >vmlinuz &&
		decompress
}

# fetch VERSION - get the image into the cache. A rename makes that atomic.
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

# upgrade - install the newest headers. The archive has the newest kernel only, so there may be
# no image for older headers.
upgrade() {
	[ "$(id -u)" = 0 ] ||
		fail "no image for $(version): as root, upgrade $meta"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends "$meta" >>"$log" 2>&1
}

# provide - get headers and image, by the cheapest step that succeeds.
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
	# One process at a time: others would wait for the package manager, and
	# fetch the same.
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
