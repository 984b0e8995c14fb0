#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# madvise-dofork-rings.sh - whether MADV_DOFORK takes back MADV_DONTFORK on memory that a process shares with the kernel.
#
# A process that forks keeps the ring of an io_uring or of a packet socket from its child by MADV_DONTFORK, as
# io_uring_ring_dontfork(3) of liburing does. Linux 6.1 takes that back by MADV_DOFORK. Linux 7.3 still accepts
# MADV_DONTFORK, and then refuses MADV_DOFORK with EINVAL, as earlier kernels do for devices' memory alone: the
# ring stays out of all later children. Linux 6.1.176 of Debian 12, and 7.3.4 of Debian 13's backports.
#
# Needs apt, dpkg-deb, cpio, qemu-system-x86, gcc and libc6-dev. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)

# download SUITE PACKAGE - get a package of a suite by an apt of its own, and unpack it.
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
	for words in update "download $2"; do
		# shellcheck disable=SC2086 # words
		(cd "$1" && APT_CONFIG=conf apt-get -qq $words) >log 2>&1 || {
			cat log
			exit 1
		}
	done
	dpkg-deb -x "$1"/*.deb "$1/root"
}

download bookworm linux-image-6.1.0-50-cloud-amd64
download trixie-backports linux-binary-7.3.4+deb13-cloud-amd64
cat >init.c <<'END'
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *advise(void *at, int advice)
{
	return madvise(at, 4096, advice) ? strerror(errno) : "taken";
}

static void try_both(const char *what, int fd, off_t offset)
{
	int flags = MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, fd, offset);

	printf("found %s: ", what);
	if (at == MAP_FAILED) {
		printf("mmap: %s\n", strerror(errno));
		return;
	}
	printf("DONTFORK %s, ", advise(at, MADV_DONTFORK));
	printf("DOFORK %s\n", advise(at, MADV_DOFORK));
}

int main(void)
{
	struct tpacket_req request = { 4096, 1, 2048, 2 };
	int packets = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	struct io_uring_params params = {};
	struct utsname name;

	uname(&name);
	printf("found Linux %s\n", name.release);
	try_both("memory of the process", -1, 0);
	try_both("ring of io_uring", syscall(SYS_io_uring_setup, 8, &params), IORING_OFF_SQES);
	setsockopt(packets, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request));
	try_both("ring of packets", packets, 0);
	fflush(stdout);
	return reboot(RB_AUTOBOOT);
}
END
mkdir guest
gcc -O2 -static -o guest/init init.c
(cd guest && find . | cpio --quiet -o -H newc) >initrd
for suite in bookworm trixie-backports; do
	image=$(find "$suite/root" -name 'vmlinuz*' -type f)
	timeout 60 qemu-system-x86_64 -nodefaults -nic none -no-reboot -display none -serial stdio -accel tcg \
		-cpu max,cx16=off -m 512 -kernel "$image" -initrd initrd \
		-append "console=ttyS0 quiet panic=-1 no_timer_check" </dev/null | tr -d '\r' | grep '^found'
done | tee found
awk '{ sub(/.*: DONTFORK/, "DONTFORK") } NR % 4 != 1' found >advices
cmp - advices <<'END'
DONTFORK taken, DOFORK taken
DONTFORK taken, DOFORK taken
DONTFORK taken, DOFORK taken
DONTFORK taken, DOFORK taken
DONTFORK taken, DOFORK Invalid argument
DONTFORK taken, DOFORK Invalid argument
END
