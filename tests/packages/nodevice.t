#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# nodevice.t RELEASE - the Debian packages on that release of Debian (bookworm, sid) with systemd, in a
# virtual machine, where DKMS could build no module because the kernel's headers are missing: the boot
# goes on, the units and hbctl doctor say why, and when the module is there at last, the units start by
# themselves. The packages are those that sources.t has built on that release. Runs as root.
#
# The disk is made from an overlay of a root directory that root.sh keeps. nodevice_guest.sh runs there.
set -u

# shellcheck source=tests/packages/machine.sh
. "$(dirname "$0")/machine.sh"
release=$1

# make_root - for make_machine: make the copy, with the packages of this version alone.
make_root() {
	open_root "$@" && copy_packages "$built" now
}

# fill_root - install the packages, declare and enable what a site has, keep the module that DKMS builds for
# later, and remove it together with the headers.
fill_root() {
	# shellcheck disable=SC2016 # expanded in the root directory
	enter 'kernel=$(ls /lib/modules)
		apt-get -y install /packages/now/*.deb
		[ -n "$(modinfo -k "$kernel" -n hashbelt 2>/dev/null)" ] || dkms autoinstall -k "$kernel"
		cp "$(modinfo -k "$kernel" -n hashbelt)" /test
		dkms remove hashbelt/'"$new"' --all
		depmod "$kernel"
		rm /lib/modules/$kernel/build
		systemctl -q enable hbserve@shop hbserve@shop.socket hbfollow@shop' &&
		printf '[shop]\nttl = 30m\nsave = yes\ngroup = hashbelt\nmode = 0660\n' >"$root/etc/hashbelt/shop.conf" &&
		mkdir -p "$root/etc/systemd/system/hbfollow@shop.service.d" "$root/var/lib/prometheus/node-exporter" &&
		printf '[Service]\nEnvironment=URL=redis://127.0.0.1/\n' \
			>"$root/etc/systemd/system/hbfollow@shop.service.d/override.conf"
}

case $release in
bookworm) built=deb ;;
*) built=deb-$release ;;
esac
"$tests/need.sh" e2fsprogs qemu-system-x86 || exit 1
make_machine "$release" nodevice_guest.sh "$new" || exit 1
fill_machine "Debian $release: the packages install, and the module is removed"
run_boots 1 "a boot without the module"
finish
