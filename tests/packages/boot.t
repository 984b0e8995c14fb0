#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# boot.t - the Debian packages on a Debian 12 with systemd, in a virtual machine: install
# them, write files into /etc/hashbelt, and the declared belts are there after each boot. Then upgrade
# the module with the belts in use, and remove it, by the commands of docs/packages.md. The packages
# are those that sources.t leaves: .cache/build/deb-before is installed first. Runs as root.
#
# The disk is made from an overlay of a root directory that root.sh keeps, into which apt has installed
# the packages. boot_guest.sh runs there, once after each boot.
set -u

# shellcheck source=tests/packages/machine.sh
. "$(dirname "$0")/machine.sh"

# fill_root - install the packages as docs/packages.md says, declare two more belts, and add a user and
# four programs: the shell script and the C program of docs/tutorial.md, theme.cc and theme.py.
fill_root() {
	shown packages.md Remove >"$root/test/remove"
	shown packages.md "Upgrade a running module" >"$root/test/upgrade"
	awk '/^```/ { inside = /^```c$/; next } inside' "$top/docs/tutorial.md" >"$root/test/visit.c"
	cp "$tests/packages/theme.cc" "$tests/packages/theme.py" "$root/test"
	# shellcheck disable=SC2016 # expanded in the root directory
	echo 'hbctl -b shop put "session:$1" "theme=$2" --if-absent --ttl 2h' >"$root/test/login"
	# shellcheck disable=SC2016 # expanded in the root directory
	enter 'cd /packages/before
		sh -ex /test/install
		apt-get -y install ./libhashbelt*.deb ./python3-hashbelt_*.deb
		useradd alice
		usermod -aG hashbelt alice
		cd /test
		sed -i "1i #!/bin/sh" login
		chmod 755 login
		gcc -o visit visit.c $(pkg-config --cflags --libs hashbelt)
		g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -o theme theme.cc \
			$(pkg-config --cflags --libs hashbelt)' &&
		printf '[shop]\nttl = 30m\non-expire = notify\ngroup = hashbelt\nmode = 0660\n' \
			>"$root/etc/hashbelt/shop.conf" &&
		printf '[kept]\nttl = 1d\nsave = yes\n' >"$root/etc/hashbelt/kept.conf"
}

"$tests/need.sh" e2fsprogs qemu-system-x86 || exit 1
make_machine bookworm boot_guest.sh "$old" "$new" || exit 1
fill_machine "the packages of version $old install with apt"
run_boots 3 "three boots, an upgrade and a removal in the guest"
finish
