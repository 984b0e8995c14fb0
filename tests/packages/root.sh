#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# root.sh RELEASE [boot|build|confined] - print the path of a root directory of that release of Debian
# (bookworm, trixie, sid) in which all is installed that the packages of hashbelt depend on, rpm, and the
# headers of two kernels. With "boot" it has instead systemd, one kernel with its headers, g++, and the
# programs that start the kernel under UEFI Secure Boot. With "confined" it has instead systemd, one
# kernel with its headers, podman, docker and the policy of SELinux. With "build" it has what sources.t
# needs, and no kernel. What a test finds there after it has purged the packages is theirs.
#
# cache.sh keeps the directory, and tests write to overlays of it only. The first call takes a minute
# or two. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

# With what podman and docker need to run without root, what docker needs to confine by AppArmor, a client
# for sockets, and an engine for hbfollow.
containers=podman,crun,uidmap,dbus-user-session,libpam-systemd,rootlesskit,slirp4netns,iproute2
containers=$containers,docker.io,apparmor,busybox-static,acl,netcat-openbsd,redis-server

# The packages to build from, and the programs that check.
builders=build-essential,debhelper,dh-dkms,dh-python,git,lintian,rpm,rpmlint,libevent-dev,libhiredis-dev
builders=$builders,libinih-dev,libncurses-dev,libpq-dev,libsmartcols-dev,libssl-dev,libsystemd-dev
builders=$builders,pkg-config,pybuild-plugin-pyproject,python3-dev,python3-pip,python3-setuptools,python3-wheel

# kernels - print the packages with headers, of two kernels where the processor has two.
kernels() {
	processor=$(dpkg --print-architecture)
	case $processor in
	amd64 | arm64) echo "linux-headers-$processor,linux-headers-cloud-$processor" ;;
	*) echo "linux-headers-$processor" ;;
	esac
}

# The package lists of unstable are often older than their Valid-Until date allows.
bootstrap() {
	"$tests/need.sh" mmdebstrap
	packages=dkms,gcc,libc6-dev,make,kmod,openssl,pkgconf,libevent-core-2.1-7,libinih1
	packages=$packages,libncursesw6,libpq5,libsmartcols1,python3
	# For hashbelt-follow, which sources.t builds with the hiredis of each release.
	case $release in
	bookworm) packages=$packages,libhiredis0.14,libevent-openssl-2.1-7 ;;
	*) packages=$packages,libhiredis1.1.0,libevent-openssl-2.1-7t64 ;;
	esac
	# systemd of unstable only recommends the libraries and programs that it needs to mount, to load modules
	# and to set access lists.
	case $kind in
	'') packages=$packages,rpm,systemd-standalone-sysusers,$(kernels) ;;
	build) packages=$builders ;;
	*)
		packages=systemd-sysv,udev,dbus,mount,libkmod2,libacl1,libmount1,$packages
		packages=$packages,linux-image-cloud-amd64,linux-headers-cloud-amd64
		;;
	esac
	case $kind in
	boot) packages=$packages,g++,shim-signed,grub-efi-amd64-signed,mokutil ;;
	confined) packages=$packages,$containers,selinux-policy-default,policycoreutils ;;
	esac
	mmdebstrap --variant=apt --components=main --include="$packages" \
		--aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		"$release" "$work/root" "$(mirror)"
}

case $#${2-} in
1 | 2boot | 2build | 2confined) ;;
*) fail "usage: root.sh RELEASE [boot|build|confined]" ;;
esac
release=$1 kind=${2-}
name=${kind:+$kind-}$release
[ "$(id -u)" = 0 ] || fail "only root can make and use a root directory"
keep packages "$name" "a root directory of $release" bootstrap
echo "$kept/root"
