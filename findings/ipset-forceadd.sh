#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ipset-forceadd.sh - how many elements a full set of ipset(8) with forceadd takes.
#
# The manual page says that with forceadd a new element of a full set may take the place of a random one. A
# set of 10 elements refused some 90 of 100 adds all the same, and one of 1000 elements 548 of 2500, another number
# each time. ipset 7.17 of Debian 12 on the kernel of this machine, Linux 6.18 when this was written.
#
# Needs apt, dpkg-deb, and unshare(1) with the right to make a network namespace. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get download -q -o APT::Sandbox::User=root ipset=7.17-1 libipset13=7.17-1 libmnl0 >log 2>&1 || {
	cat log
	exit 1
}
for package in *.deb; do
	dpkg-deb -x "$package" root
done
cat >try <<'END'
ipset=$(find root -name ipset -perm -1 -type f | head -n 1)
export LD_LIBRARY_PATH=root/usr/lib/x86_64-linux-gnu:root/lib/x86_64-linux-gnu
"$ipset" --version
for most in 10 1000; do
	"$ipset" create s$most hash:ip maxelem $most forceadd
	refused=0
	for a in $(seq 0 $((most < 100 ? 0 : 9))); do
		for b in $(seq $((most < 100 ? 100 : 250))); do
			"$ipset" add s$most 10.0.$a.$b 2>/dev/null || refused=$((refused + 1))
		done
	done
	echo "of $most: $refused refused, $("$ipset" list s$most | grep -c '^10\.') present"
done
END
uname -r
unshare -rn sh ./try >output 2>&1 || true
cat output
awk '/^of 10:/ { small = $3 > 70 } /^of 1000:/ { large = $3 > 100 } END { exit !small || !large }' output || {
	echo "ipset-forceadd.sh: the behaviour has changed" >&2
	exit 1
}
