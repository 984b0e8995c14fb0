#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh SUITE VERB - get the stock kernel of another suite of Debian (trixie, sid).
#
#   release            print its release, such as 6.12.107+deb13-amd64
#   image              print the path of the image to boot
#   module DIRECTORY   build the module in DIRECTORY, and the one that uses it, with
#                      all warnings
#
# The headers of a newer kernel do not work with this machine's compiler and C
# library. So the script makes a root directory of that suite, with headers and
# compiler, and builds the module in it. cache.sh keeps directory and image; to get
# a newer kernel of the suite, remove them. The first call takes a minute. All calls
# need root.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$here/../cache.sh" matrix)
work=''

fail() {
	echo "kernel.sh: $1" >&2
	exit 1
}

# mirror - print the address of this machine's mirror of Debian.
mirror() {
	# shellcheck disable=SC2016 # apt-get expands it
	apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
		sed -n 's/^Debian //p' | head -n 1
}

# unpack RELEASE - extract the image from its package. The package is not installed,
# because that would make an initramfs. Newer kernels have the image in linux-binary.
unpack() {
	for package in "linux-binary-$1" "linux-image-$1"; do
		apt-get download -q "$package" && break
	done
	dpkg-deb --fsys-tarfile ./*.deb |
		tar -x -O --wildcards '*/vmlinuz*' >vmlinuz && [ -s vmlinuz ]
}

# get_image ROOT - called by mmdebstrap before it removes its package lists.
get_image() {
	cd "$1/.."
	ls root/lib/modules >release
	export APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
	unpack "$(cat release)"
	rm -- *.deb
}

# bootstrap - make the root directory. The package lists of unstable are often older than their
# Valid-Until date allows.
bootstrap() {
	mmdebstrap --variant=apt --components=main \
		--include=make,gcc,perl,linux-headers-amd64 \
		--aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--customize-hook="'$here/kernel.sh' '$suite' complete \"\$1\"" \
		"$suite" "$work/root" "$(mirror)"
}

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	[ -z "$work" ] || rm -rf "$work"
}

# fetch - get the kernel into the cache. A rename makes that atomic. Removes kernels of other
# versions of this script that no clone has used for a month.
fetch() {
	"$here/../need.sh" mmdebstrap || exit 1
	work=$cache/work-$suite
	rm -rf "$work"
	mkdir "$work"
	bootstrap >"$cache/log-$suite" 2>&1 || {
		tail -n 20 "$cache/log-$suite" >&2
		fail "cannot get the kernel of $suite"
	}
	find "$cache" -mindepth 1 -maxdepth 1 -type d \
		-name "$suite-*" -mtime +30 -exec rm -rf {} +
	mv "$work" "$kernel"
	work=
}

# provide - fetch the kernel once. Child processes do not inherit the lock.
provide() {
	kernel=$cache/$suite-$(sha256sum <"$here/kernel.sh" | cut -c 1-16)
	exec 9>"$cache/lock-$suite"
	flock 9
	[ -d "$kernel" ] || fetch 9>&-
	touch "$kernel"
	exec 9>&-
}

# module DIRECTORY - build the module. The mount namespace ends with the build. The kernel's
# objtool needs /proc.
module() {
	mkdir -p "$kernel/root/source" "$kernel/root/module"
	export kernel top
	# shellcheck disable=SC2016 # expanded by the inner shell
	exec unshare --mount sh -ec '
		mount -t proc proc "$kernel/root/proc"
		mount --bind "$top" "$kernel/root/source"
		mount --bind "$1" "$kernel/root/module"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
			chroot "$kernel/root" /source/tests/module.sh --user \
			"/lib/modules/$(cat "$kernel/release")/build" /module W=1' sh "$1"
}

suite=${1-}
case ${2-}$# in
complete3)
	get_image "$3"
	exit
	;;
release2 | image2) ;;
module3)
	mkdir -p "$3"
	directory=$(cd "$3" && pwd)
	;;
*) fail "usage: kernel.sh SUITE release|image|module DIRECTORY" ;;
esac
[ "$(id -u)" = 0 ] || fail "only root can make and use a root directory"

trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
provide

case $2 in
release) cat "$kernel/release" ;;
image) echo "$kernel/vmlinuz" ;;
module) module "$directory" ;;
esac
