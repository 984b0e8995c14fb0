#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# debian.t RELEASE - install, upgrade, remove and purge the Debian packages in a root
# directory of that release. DKMS builds the module there; no kernel loads it. The packages are those
# that sources.t leaves: the upgrade is from .cache/build/deb-before to .cache/build/deb. Runs as root.
#
# The root directory is an overlay of the one that root.sh keeps, and is discarded at the end. So the
# packages that these depend on, the kernels' headers among them, are there before, and a file that
# is new after the purge is a leftover.
# shellcheck disable=SC2086 # lists of names, split on purpose
set -u

# shellcheck source=tests/packages/root_copy.sh
. "$(dirname "$0")/root_copy.sh"
release=$1

# absent PATH... - print each of these that is not in the root directory.
absent() {
	for path; do
		enter "test -e '$path'" || echo "expected $path"
	done
}

# compiles OPTION... - compile tests/build/client.c with the installed library, as pkg-config says, and
# compare its output.
compiles() {
	cp "$tests/build/client.c" "$root/tmp"
	enter "cd /tmp && gcc -Wall -Wextra -Werror -o client client.c $* \
		\$(pkg-config --cflags --libs hashbelt) && ./client" >"$temporary/out" 2>&1 ||
		echo "expected status 0, found $?"
	grep -qx 'a key of 3 bytes, a value of 5' "$temporary/out" || cat "$temporary/out"
}

make_root "$release" && list_kernels || exit 1
files >"$temporary/files"
last=$(echo "$kernels" | tail -n 1)

result "Debian $release: the packages of a version before install" \
	"$(succeeds 'dpkg -i /packages/before/*.deb')"
result "Debian $release: DKMS builds the module for each kernel" \
	"$(different "$(versions "$old" $kernels)" "$(modules)")"
result "Debian $release: the packages upgrade" "$(succeeds 'dpkg -i /packages/now/*.deb')"
for kernel in $kernels; do
	succeeds "dkms install hashbelt/$new -k $kernel"
done >"$temporary/installed"
result "Debian $release: after an upgrade, DKMS has the module of the new version" \
	"$(cat "$temporary/installed"; different "$(versions "$new" $kernels)" "$(modules)")"
result "Debian $release: an upgrade removes the sources of the version before" \
	"$(enter 'ls -d /usr/src/hashbelt-* /var/lib/dkms/hashbelt/[0-9]*' |
		grep -v -e "/usr/src/hashbelt-$new" -e "/var/lib/dkms/hashbelt/$new")"
result "Debian $release: the packages have the files of make install" "$(absent \
	/usr/lib/udev/rules.d/60-hashbelt.rules /usr/lib/sysusers.d/hashbelt.conf \
	/usr/lib/modules-load.d/hashbelt.conf /usr/lib/systemd/system/hashbelt.service \
	/usr/lib/systemd/system/hashbelt-metrics.service /usr/lib/systemd/system/hashbelt-metrics.timer \
	/usr/lib/systemd/system/hbserve@.service /usr/lib/systemd/system/hbserve@.socket \
	/usr/lib/systemd/system/hbserve-redis@.service /usr/lib/systemd/system/hbserve-redis@.socket \
	/etc/hashbelt /usr/share/doc/hashbelt/example.conf /usr/share/doc/hashbelt/hashbelt.cil \
	/usr/share/doc/hashbelt/hardening.md.gz /usr/share/doc/hashbelt/modprobe.conf \
	/usr/share/man/man1/hbctl.1.gz /usr/share/man/man1/hbctl-store.1.gz \
	/usr/share/man/man3/hashbelt_get.3.gz /usr/share/man/man4/hashbelt.4.gz \
	/usr/share/man/man5/hbctl-apply.5.gz /usr/share/man/man7/hashbelt.7.gz \
	/usr/share/man/man8/hbserve.8.gz /usr/share/bash-completion/completions/hbserve \
	/usr/share/zsh/vendor-completions/_hbserve /usr/share/fish/vendor_completions.d/hbserve.fish \
	/usr/share/bash-completion/completions/hbctl /usr/share/zsh/vendor-completions/_hbctl \
	/usr/share/fish/vendor_completions.d/hbctl.fish /usr/include/hashbelt/client.h \
	/usr/lib/python3/dist-packages/hashbelt/py.typed)"
result "Debian $release: systemd starts hashbelt.service at boot and with the device, and not the timer for metrics" \
	"$(different '/etc/systemd/system/dev-hashbelt.device.wants/hashbelt.service
/etc/systemd/system/multi-user.target.wants/hashbelt.service' \
		"$(enter 'find /etc/systemd/system -name "hashbelt*" -path "*.wants/*" | sort')")"
result "Debian $release: the installed hbctl has the version of the packages" \
	"$(different "hbctl $new" "$(enter 'hbctl --version' | cut -d ' ' -f 1,2)")"
result "Debian $release: the installed hbserve has the version of the packages" \
	"$(different "hbserve $new" "$(enter 'hbserve --version')")"
result "Debian $release: the package hashbelt-follow has its files" "$(absent \
	/usr/lib/systemd/system/hbfollow@.service /usr/share/man/man8/hbfollow.8.gz \
	/usr/share/bash-completion/completions/hbfollow /usr/share/zsh/vendor-completions/_hbfollow \
	/usr/share/fish/vendor_completions.d/hbfollow.fish)"
result "Debian $release: the installed hbfollow has the version of the packages" \
	"$(different "hbfollow $new" "$(enter 'hbfollow --version')")"
result "Debian $release: the installed package for Python has the version of the packages" \
	"$(different "$new" "$(enter 'python3 -c "import hashbelt; print(hashbelt.__version__)"' 2>&1)")"
result "Debian $release: it has its extension" \
	"$(different native "$(enter 'python3 -c "import hashbelt; print(hashbelt.backend())"' 2>&1)")"
result "Debian $release: it loads the library, which says what is missing without the module" "$(different \
	"NoDevice there is no device /dev/hashbelt: load the module with 'modprobe hashbelt' or 'insmod hashbelt.ko'" \
	"$(enter 'python3 -c "
import hashbelt
try:
	hashbelt.open(\"shop\")
except hashbelt.Error as error:
	print(type(error).__name__, error)"' 2>&1)")"
result "Debian $release: a C program compiles with the shared library of libhashbelt-dev" "$(compiles)"
result "Debian $release: this program needs libhashbelt.so.0" \
	"$(enter 'ldd /tmp/client' | grep -q 'libhashbelt.so.0 => /' || echo "no libhashbelt.so.0")"
result "Debian $release: a C program compiles with the static library of libhashbelt-dev" \
	"$(compiles -static)"
result "Debian $release: dkms remove for one kernel succeeds" \
	"$(succeeds "dkms remove hashbelt/$new -k $last")"
result "Debian $release: it leaves the modules of the other kernels" "$(different \
	"$(versions "$new" $kernels | grep -v "^$last ")" "$(modules)")"
# The hook gets the version of the kernel, as apt calls it after it has installed the headers.
result "Debian $release: DKMS builds the module when the headers of a kernel are installed" \
	"$(succeeds "/etc/kernel/header_postinst.d/dkms $last"
	different "$(versions "$new" $kernels)" "$(modules)")"
result "Debian $release: the packages can be removed" "$(succeeds "dpkg -r $packages")"
result "Debian $release: no kernel has the module after the removal" "$(modules)"
result "Debian $release: the packages can be purged" "$(succeeds "dpkg -P $packages")"
files >"$temporary/left"
result "Debian $release: the files after the purge are those before the installation" \
	"$(diff "$temporary/files" "$temporary/left" | grep '^[<>]')"
finish
