#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# install_module.sh VERSION KVER DESTDIR - install the module for the kernel KVER.
#
# With DKMS the sources go to /usr/src and the module is built again for each
# kernel that is installed later; without it, or with a DESTDIR, the module is
# built and installed for this kernel alone. The kernel's own rule runs no depmod
# where System.map is not beside the headers, as on Debian, and cannot sign without
# the key of the kernel's build.
set -eu

version=$1
kver=$2
destdir=$3
top=$(cd "$(dirname "$0")/.." && pwd)

install_sources() {
	sources=/usr/src/hashbelt-$version
	install -d "$sources" "$sources/belt" "$sources/device"
	install -m 644 "$top"/Kbuild "$top"/*.c "$top"/*.h "$sources"
	install -m 644 "$top"/belt/*.[ch] "$sources/belt"
	install -m 644 "$top"/device/*.[ch] "$sources/device"
	sed "s/@VERSION@/$version/" "$top/dkms.conf" >"$sources/dkms.conf"
}

if [ -z "$destdir" ] && command -v dkms >/dev/null; then
	# An older build of the same version would be kept otherwise.
	dkms remove "hashbelt/$version" --all >/dev/null 2>&1 || true
	install_sources
	dkms install "hashbelt/$version" -k "$kver"
else
	kdir=/lib/modules/$kver/build
	"$top/tests/module.sh" "$kdir" "$top/.cache/build/module-$kver"
	make -C "$kdir" M="$top/.cache/build/module-$kver" INSTALL_MOD_PATH="$destdir" \
		CONFIG_MODULE_SIG_ALL= modules_install
	[ "$destdir" ] || depmod "$kver"
fi
