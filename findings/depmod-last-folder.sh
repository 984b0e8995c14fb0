#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# depmod-last-folder.sh - which of two modules of the same name modprobe loads.
#
# One is in kernel/, with those of the kernel's package, and one in extra/. By depmod.d(5), updates/ has priority, and
# "built-in" stands for "the standard module directories installed by the kernel". But without a line "search" that
# names extra/, and Debian has none, extra/ has the same priority as kernel/, and the folder that readdir(3) returns
# first wins: on tmpfs the one that was made last, on ext4 by a hash. So the same files give another module on another
# machine. kmod 30 of Debian 12; kmod 34.2 does the same.
#
# Needs apt, dpkg-deb, gcc, and unshare(1) with the right to mount. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q -o APT::Sandbox::User=root kmod=30+20221128-1 libkmod2=30+20221128-1 >log 2>&1 || {
	cat log
	exit 1
}
for package in *.deb; do
	dpkg-deb -x "$package" root
done
cat >module.c <<'END'
static const char info[] __attribute__((section(".modinfo"), used)) = "name=module\0license=GPL";
END
gcc -c -o module.ko module.c
cat >try <<'END'
mount -t tmpfs tmpfs folder
export LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu:root/lib/x86_64-linux-gnu
./depmod --version | head -n 1 >&2
for folders in "kernel extra" "extra kernel" "kernel updates" "updates kernel"; do
	modules=folder/lib/modules/6.1.176
	rm -rf folder/lib
	mkdir -p $modules
	touch $modules/modules.order $modules/modules.builtin $modules/modules.builtin.modinfo
	for name in $folders; do
		mkdir $modules/$name
		cp module.ko $modules/$name
	done
	./depmod -C conf -b folder 6.1.176
	path=$(./modprobe -C conf -d "$PWD/folder" -S 6.1.176 -n -v module | sed 's/.*lib.modules.6.1.176.//; s/ *$//')
	echo "$folders, made in that order: $path"
done
END
mkdir conf folder
ln -s root/bin/kmod depmod
ln -s root/bin/kmod modprobe
unshare -rm sh -u ./try >found
cat found
cat >expected <<'END'
kernel extra, made in that order: extra/module.ko
extra kernel, made in that order: kernel/module.ko
kernel updates, made in that order: updates/module.ko
updates kernel, made in that order: updates/module.ko
END
diff expected found
