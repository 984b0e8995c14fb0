#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# boot.t [DIRECTORY] - the Debian packages on a Debian 12 with systemd, in a virtual machine: install
# them, write files into /etc/hashbelt, and the declared belts are there after each boot. Then upgrade
# the module with the belts in use, and remove it, by the commands of docs/packages.md. The packages
# are those that sources.t leaves: .cache/build/deb-before is installed first. Runs as root.
#
# The disk is made from an overlay of a root directory that root.sh keeps, into which apt has installed
# the packages. boot_guest.sh runs there, once after each boot.
set -u

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)

# Without a DIRECTORY, run this script in a mount namespace of its own. The mounts end with it.
if [ $# = 0 ]; then
	[ "$(id -u)" = 0 ] || {
		echo "Bail out! only root can use a root directory"
		exit 1
	}
	copy=$(mktemp -d)
	unshare --mount "$0" "$copy"
	status=$?
	rmdir "$copy"
	exit $status
fi
copy=$1

# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

tab=$(printf '\t')
root=$copy/root
new=$(sed -n 's/^#define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' "$top/hashbelt_version.h")
old=0.0.9	# of sources.t

# enter COMMAND - run a command in the root directory.
enter() {
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		DEBIAN_FRONTEND=noninteractive chroot "$root" sh -ec "$1" </dev/null
}

# shown HEADING - print the commands below that heading of docs/packages.md. apt asks no question.
shown() {
	awk -v heading="## $1" '/^## / { inside = $0 == heading } inside' "$top/docs/packages.md" \
		>"$temporary/packages.md"
	awk -v kinds=boot -f "$tests/docs/shown.awk" "$temporary/packages.md" | cut -f 3 |
		sed 's/^apt /apt-get -y /'
}

# make_root - make the root directory, with the packages of both versions and the files of the test.
make_root() {
	base=$("$tests/packages/root.sh" bookworm boot) &&
		mount -t tmpfs tmpfs "$copy" && mkdir "$copy/upper" "$copy/work" "$root" &&
		mount -t overlay overlay "$root" \
			-o "lowerdir=$base,upperdir=$copy/upper,workdir=$copy/work" &&
		mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
		mkdir "$root/test" "$root/test/before" "$root/test/packages" || return
	for package in hbctl hashbelt-dkms libhashbelt0 libhashbelt-dev; do
		cp "$top/.cache/build/deb-before/${package}_"*.deb "$root/test/before" &&
			cp "$top/.cache/build/deb/${package}_"*.deb "$root/test/packages" || return
	done
	cp "$tests/packages/boot_guest.sh" "$root/test" &&
		shown Install >"$root/test/install" && shown Remove >"$root/test/remove" &&
		shown "Upgrade a running module" >"$root/test/upgrade" &&
		chmod 755 "$root/test"
}

# fill_root - install the packages as docs/packages.md says, declare one more belt, and add a user and
# the programs of docs/tutorial.md: a shell script and a C program.
fill_root() {
	awk '/^```/ { inside = /^```c$/; next } inside' "$top/docs/tutorial.md" >"$root/test/visit.c"
	# shellcheck disable=SC2016 # expanded in the root directory
	echo 'hbctl -b shop put "session:$1" "theme=$2" --if-absent --ttl 2h' >"$root/test/login"
	cat >"$root/etc/systemd/system/boot-test.service" <<END
[Service]
ExecStart=/test/boot_guest.sh $old $new
StandardOutput=file:/dev/ttyS1
StandardError=journal+console
Restart=no
[Install]
WantedBy=multi-user.target
END
	printf '[shop]\nttl = 30m\non-expire = notify\ngroup = hashbelt\nmode = 0660\n' \
		>"$temporary/shop.conf"
	echo '/dev/vda / ext4 errors=remount-ro 0 1' >"$root/etc/fstab"
	# shellcheck disable=SC2016 # expanded in the root directory
	enter 'cd /test/before
		sh -ex ../install
		apt-get -y install ./libhashbelt*.deb
		useradd alice
		usermod -aG hashbelt alice
		cd /test
		sed -i "1i #!/bin/sh" login
		chmod 755 login
		gcc -o visit visit.c $(pkg-config --cflags --libs hashbelt)
		systemctl enable boot-test' && cp "$temporary/shop.conf" "$root/etc/hashbelt"
}

# make_disk - write a file system with the files of the root directory.
make_disk() {
	umount -l "$root/dev" "$root/proc" &&
		mke2fs -q -t ext4 -d "$root" -L root "$temporary/disk" 3G
}

# run_guest - boot the machine, until it powers off. A reboot does not end the emulator. The guest
# prints nothing while DKMS compiles the module. The boot
# arguments that keep a busy host from disturbing the guest's clocks are those of vm/run.sh.
run_guest() {
	clock=$(awk '/^bogomips/ {
		printf "tsc=reliable tsc_early_khz=%d lpj=%d", $3 * 500, $3 * 2000
		exit
	}' /proc/cpuinfo)
	: >"$temporary/checks"
	EVIDENCE='' setpriv --pdeathsig TERM "$tests/silence.sh" 1800 \
		"$temporary/console" "$temporary/checks" -- \
		qemu-system-x86_64 -nodefaults -nic none -display none -m 1024 \
		-accel tcg,thread=multi -smp 2,sockets=2 -cpu max,cx16=off \
		-kernel "$(echo "$root"/boot/vmlinuz-*)" -initrd "$(echo "$root"/boot/initrd.img-*amd64)" \
		-drive "file=$temporary/disk,format=raw,if=virtio,cache=unsafe" \
		-serial "file:$temporary/console" -serial "file:$temporary/checks" \
		-append "root=/dev/vda rw console=ttyS0 loglevel=5 panic=-1 oops=panic no_timer_check $clock"
}

# complaints - print what the kernel has to complain about.
complaints() {
	grep -aE 'BUG:|WARNING:|Oops|Kernel panic|Call Trace|soft lockup|hung task' "$temporary/console"
}

# report - make a check of each line of boot_guest.sh.
report() {
	last=''
	: >"$temporary/printed"
	while IFS="$tab" read -r code name; do
		case $code in
		'|'*) printf '%s\n' "${code#|}${name:+$tab$name}" >>"$temporary/printed" ;;
		*)
			last=$name
			result "$name" "$([ "$code" = 0 ] ||
				{ echo "expected status 0, found $code:"; cat "$temporary/printed"; })"
			: >"$temporary/printed"
			;;
		esac
	done <"$temporary/checks"
}

"$tests/need.sh" e2fsprogs qemu-system-x86 || exit 1
make_root || exit 1
fill_root >"$temporary/filled" 2>&1
status=$?
result "the packages of version $old install with apt" \
	"$([ $status = 0 ] || { echo "status $status"; tail -n 40 "$temporary/filled"; })"
make_disk >"$temporary/made" 2>&1 || {
	cat "$temporary/made"
	exit 1
}
began=$(date +%s)
run_guest 2>"$temporary/err"
status=$?
echo "# three boots, an upgrade and a removal in the guest: $(($(date +%s) - began)) s"
tr -d '\r' <"$temporary/checks" >"$temporary/lines" && mv "$temporary/lines" "$temporary/checks"
report
result "the guest has booted three times, and powers off" "$(
	[ "$status $last" = '0 end of boot 3' ] ||
		{ echo "status $status"; cat "$temporary/err"; tail -n 40 "$temporary/console"; })"
result "the kernel had nothing to complain about" "$(complaints)"
plan $count
finish
