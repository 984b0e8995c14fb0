#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# install_module.sh VERB VERSION KVER DESTDIR [KDIR DIRECTORY] - install or remove the module.
#
#	plain		for the kernel KVER alone: the module that was built in DIRECTORY for the
#			kernel whose build folder is KDIR
#	dkms		the sources for DKMS; with an empty DESTDIR, DKMS builds and installs
#			the module for KVER
#	uninstall	remove what these two put: the module for KVER, and the sources with all
#			that DKMS built from them
#
# With DKMS the sources go to /usr/src and the module is built again for each kernel that is
# installed later. The builds for other kernels stay when the one for KVER is replaced.
# The kernel's own rule runs no depmod where System.map is not beside the headers, as on Debian,
# and cannot sign without the key of the kernel's build.
set -eu
unset CDPATH KBUILD_OUTPUT KBUILD_EXTMOD_OUTPUT
umask 022

verb=$1
version=$2
kver=$3
destdir=$4
top=$(cd "$(dirname "$0")/.." && pwd)
sources=$destdir/usr/src/hashbelt-$version

fail() {
	echo "install_module.sh: $1" >&2
	exit 1
}

has_dkms() {
	[ -z "$destdir" ] && command -v dkms >/dev/null
}

install_sources() {
	install -d "$sources" "$sources/belt" "$sources/device"
	install -m 644 "$top"/Kbuild "$top"/*.c "$top"/*.h "$sources"
	install -m 644 "$top"/belt/*.h "$sources/belt"
	install -m 644 "$top"/device/*.[ch] "$sources/device"
	for room in "$top"/belt/*/; do
		room=$(basename "$room")
		install -d "$sources/belt/$room"
		install -m 644 "$top/belt/$room"/*.[ch] "$sources/belt/$room"
	done
	install -m 644 "$top"/belt/ground/*.mk "$sources/belt/ground"
	sed "s/@VERSION@/$version/" "$top/dkms.conf" >"$sources/dkms.conf"
	chmod 644 "$sources/dkms.conf"
}

# remove_plain - remove the module that was installed without DKMS, from the directory of older and
# of newer kernels. True if there was one.
remove_plain() {
	found=false
	for directory in extra updates; do
		modules=$destdir/lib/modules/$kver/$directory
		for file in "$modules"/hashbelt.ko*; do
			[ -e "$file" ] || continue
			rm -f "$file"
			rmdir --ignore-fail-on-non-empty "$modules"
			found=true
		done
	done
	$found
}

with_dkms() {
	# DKMS keeps an older build of the same version, and replaces no other module of it.
	dkms remove "hashbelt/$version" -k "$kver" >/dev/null 2>&1 || true
	remove_plain || true
	install_sources
	# The settings of the make that called this are not those of DKMS.
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dkms install "hashbelt/$version" -k "$kver"
}

# install_plain KDIR DIRECTORY - the kernel's rule cannot take each path: it installs in DIRECTORY.
install_plain() {
	staged=$2/installed
	rm -rf "$staged"
	make -C "$1" M="$2" INSTALL_MOD_PATH="$staged" CONFIG_MODULE_SIG_ALL= modules_install
	for file in "$staged"/lib/modules/*/*/hashbelt.ko*; do
		install -D -m 644 "$file" "$destdir/${file#"$staged"/}"
	done
	rm -rf "$staged"
	[ "$destdir" ] || depmod "$kver"
}

uninstall() {
	if has_dkms && [ "$(dkms status "hashbelt/$version")" ]; then
		dkms remove "hashbelt/$version" --all
	fi
	rm -rf "$sources"
	remove_plain || return 0
	[ "$destdir" ] || depmod "$kver"
}

case $verb in
plain)
	[ $# = 6 ] || fail "plain needs KDIR and DIRECTORY"
	install_plain "$5" "$(cd "$6" && pwd)"
	;;
dkms)
	if [ "$destdir" ]; then
		install_sources
	elif has_dkms; then
		with_dkms
	else
		fail "there is no dkms: install it, or run make install"
	fi
	;;
uninstall) uninstall ;;
*) fail "usage: install_module.sh plain|dkms|uninstall VERSION KVER DESTDIR [KDIR DIRECTORY]" ;;
esac
