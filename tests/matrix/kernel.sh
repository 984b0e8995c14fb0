#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh SUITE VERB - get the stock kernel of another suite of Debian: trixie, sid, experimental, or any
# other that the mirror has; newest is the suite with the newest kernel that is released, or the one that NEWEST in
# the environment names.
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
unset CDPATH

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

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

# base - print the suite that has all packages: backports and experimental have a few that are newer.
base() {
	case $suite in
	experimental) echo sid ;;
	*) echo "${suite%-backports}" ;;
	esac
}

# sources - print the lines for apt.
sources() {
	printf '%s\n' "$(base)" "$suite" | sort -u | sed "s|.*|deb $(mirror) & main|"
}

# prefer ROOT - called by mmdebstrap before it installs packages: apt prefers a base suite to its backports
# and to experimental.
prefer() {
	printf '%s\n' 'Package: linux-*' "Pin: release a=$suite" 'Pin-Priority: 900' '' \
		'Package: linux-*' "Pin: release n=$suite" 'Pin-Priority: 900' \
		>"$1/etc/apt/preferences.d/kernel"
}

# bootstrap - make the root directory. The package lists of unstable are often older than their Valid-Until
# date allows.
bootstrap() {
	"$tests/need.sh" mmdebstrap
	sources | mmdebstrap --variant=apt \
		--include=make,gcc,perl,linux-headers-amd64 \
		--aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--setup-hook="'$here/kernel.sh' '$suite' prefer \"\$1\"" \
		--customize-hook="'$here/kernel.sh' '$suite' complete \"\$1\"" \
		"$(base)" "$work/root" -
}

# module DIRECTORY - build the module. The mount namespace ends with the build. The kernel's
# objtool needs /proc.
module() {
	mkdir -p "$kept/root/source" "$kept/root/module"
	export kept top
	# shellcheck disable=SC2016 # expanded by the inner shell
	exec unshare --mount sh -ec '
		mount -t proc proc "$kept/root/proc"
		mount --bind "$top" "$kept/root/source"
		mount --bind "$1" "$kept/root/module"
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
			chroot "$kept/root" /source/tests/module.sh --user \
			"/lib/modules/$(cat "$kept/release")/build" /module W=1' sh "$1"
}

suite=${1-}
[ "$suite" != newest ] || suite=${NEWEST:-trixie-backports}
case ${2-}$# in
prefer3 | complete3)
	case $2 in
	prefer) prefer "$3" ;;
	complete) get_image "$3" ;;
	esac
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

keep matrix "$suite" "a root directory with the kernel of $suite" bootstrap

case $2 in
release) cat "$kept/release" ;;
image) echo "$kept/vmlinuz" ;;
module) module "$directory" ;;
esac
