#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh FACT [rt] - print a fact about Debian's stock kernel, or about its kernel with
# PREEMPT_RT.
#
#   version   its release, such as 6.1.0-56-amd64
#   headers   the directory to build a module against (make -C)
#   image     the file to boot: its vmlinux, or its vmlinuz where that cannot be unpacked
#
# The headers are installed. The image is not, unless these depend on it, as in Debian 13:
# installing a kernel changes what this machine boots. The script takes the installed image, or
# else extracts it from its package; cache.sh keeps it, so only the first call takes long.
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
	dpkg-query -W -f '${Depends}' "$meta" | tr ',' '\n' |
		sed -n 's/^ *linux-headers-\([^ ]*\).*/\1/p'
}

# update - update the package lists. An outdated list names versions that the mirror no longer has.
update() {
	apt-get update -q >>"$log" 2>&1
}

# package VERSION - print the package with the image: in newer releases, linux-image only depends on it.
package() {
	for name in "linux-binary-$1" "linux-image-$1"; do
		[ -z "$(apt-cache show "$name" 2>/dev/null)" ] || break
	done
	echo "$name"
}

# download VERSION - download the package with the image.
download() {
	(cd "$work" && apt-get download -q -o APT::Sandbox::User=root "$(package "$1")") >>"$log" 2>&1
}

# upgrade - install the newest headers. The archive has the newest kernel only, so there may be
# no image for older headers.
upgrade() {
	[ "$(id -u)" = 0 ] ||
		fail "no image for $(version): as root, upgrade $meta"
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
		--no-install-recommends "$meta" >>"$log" 2>&1
}

# obtain - download the package for the headers, by the cheapest step that succeeds.
obtain() {
	download "$(version)" && return
	update || return
	download "$(version)" || { upgrade && download "$(version)"; }
}

# installed - print the path of the image for the headers, if it is installed.
installed() {
	for image in "/boot/vmlinuz-$(version)" "/usr/lib/modules/$(version)/vmlinuz"; do
		[ ! -r "$image" ] || {
			echo "$image"
			return 0
		}
	done
	false
}

# fetch - get the image into the directory of this work.
fetch() {
	obtain || {
		grep -E '^(E|Err)' "$log" | sort -u | tail -n 20 >&2
		fail "cannot download the image of kernel $(version)"
	}
	dpkg-deb --fsys-tarfile "$work"/*.deb | tar -x -O --wildcards '*/vmlinuz*' >"$work/vmlinuz" ||
		fail "no vmlinuz in $(basename "$work"/*.deb)"
	echo "$work/vmlinuz"
}

# provide - get headers and image. A rename makes that atomic. If the image cannot be unpacked, another
# download would give the same file.
provide() {
	"$here/../need.sh" "$meta" || exit 1
	[ -n "$(version)" ] || fail "$meta depends on no linux-headers-VERSION"
	[ ! -s "$cache/vmlinux-$(version)" ] || return 0
	image=$(installed) || image=$(fetch) || exit 1
	"$here/vmlinux.sh" "$image" "$work/vmlinux" || fail "cannot unpack the image of kernel $(version)"
	mv "$work/vmlinux" "$cache/vmlinux-$(version)"
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
	# One process at a time: others would wait for the package manager, and
	# fetch the same.
	exec 9>"$cache/lock"
	flock 9
	work=$cache/fetch
	log=$work/log
	rm -rf "$work"
	mkdir "$work"
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	provide
	ready || fail "headers and image of $(version) are not both there"
fi

case $1 in
version) echo "$release" ;;
headers) echo "/usr/src/linux-headers-$release" ;;
image) echo "$cache/vmlinux-$release" ;;
esac
