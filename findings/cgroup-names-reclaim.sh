#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# cgroup-names-reclaim.sh - how many names of files a memory cgroup keeps when its processes need memory.
#
# A cgroup of 16 MiB is almost full of cached names (dentries), and then a process in it needs 4 MiB. Linux 6.1
# keeps a quarter of the names, and Linux 6.12 none: from 6.4 on, reclaim for a cgroup does not count what
# shrinkers free, so it sees no progress, and asks them for everything in the end. So each larger allocation
# of a container's process can cost it all that the kernel caches for it. Linux 6.1.176 of Debian 12, and
# 6.12.117 of Debian 13.
#
# Names are freed after a grace period. The time of the guest is that of its instructions, because 6.1 keeps fewer
# names, or none, where other programs slow a virtual machine down.
#
# Needs apt, dpkg-deb, cpio and qemu-system-x86. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)

# download SUITE PACKAGE... - get packages of a suite by an apt of its own, and unpack them.
download() {
	mkdir -p "$1/lists/partial" "$1/root"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$1/sources"
	cat >"$1/conf" <<END
Dir::Etc::SourceList "$work/$1/sources";
Dir::Etc::SourceParts "-";
Dir::State::Lists "$work/$1/lists";
Dir::Cache "$work/$1";
APT::Sandbox::User "root";
END
	suite=$1
	shift
	for package in update "download $*"; do
		# shellcheck disable=SC2086 # words
		(cd "$suite" && APT_CONFIG=conf apt-get -qq $package) >log 2>&1 || {
			cat log
			exit 1
		}
	done
	for package in "$suite"/*.deb; do
		dpkg-deb -x "$package" "$suite/root"
	done
}

# boot SUITE - print what a guest with the kernel of that suite finds.
boot() {
	timeout 150 qemu-system-x86_64 -nodefaults -nic none -no-reboot -display none -serial stdio \
		-accel tcg,thread=single -icount shift=0,sleep=off -seed 1 -cpu max,cx16=off,rdrand=off,rdseed=off \
		-m 512 -kernel "$1"/root/boot/vmlinuz-* -initrd initrd -append "console=ttyS0 quiet panic=-1" </dev/null |
		tr -d '\r' | grep '^found'
}

download bookworm linux-image-6.1.0-50-cloud-amd64 busybox-static
download trixie linux-image-6.12.117+deb13-cloud-amd64
mkdir -p guest/bin guest/dev guest/sys guest/proc
cp bookworm/root/bin/busybox guest/bin
cat >guest/init <<'END'
#!/bin/busybox sh
busybox mount -t sysfs sysfs /sys
busybox mount -t proc proc /proc
busybox mount -t devtmpfs devtmpfs /dev
busybox mount -t cgroup2 cgroup2 /sys/fs/cgroup
cd /sys/fs/cgroup
echo +memory >cgroup.subtree_control
busybox mkdir group
echo 16M >group/memory.max
names() {
	busybox awk '$1 == "slab_reclaimable" { printf "%.1f", $2 / 1048576 }' group/memory.stat
}
long=$(busybox printf '%0200d' 0)
busybox sh -c 'echo $$ >/sys/fs/cgroup/group/cgroup.procs
i=0
while [ $i -lt 33000 ]; do
	[ ! -e /sys/$i.$0 ] || exit
	i=$((i + 1))
done' "$long"
before=$(names)
busybox sh -c 'echo $$ >/sys/fs/cgroup/group/cgroup.procs
exec busybox dd if=/dev/zero of=/dev/null bs=4M count=1' 2>/dev/null
busybox sleep 3
echo "found: Linux $(busybox uname -r) has names of $before MiB before, and of $(names) MiB after"
busybox poweroff -f
END
chmod +x guest/init
(cd guest && find . | cpio --quiet -o -H newc) >initrd
for suite in bookworm trixie; do
	boot $suite >>found
done
cat found
awk '{ kept[NR] = $(NF - 2) / $(NF - 7) } END { exit !(NR == 2 && kept[1] > 0.2 && kept[2] < 0.05) }' found
