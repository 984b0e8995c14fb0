#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# keyring-expired-quota.sh - whether expired keys of the kernel's keyrings make room for new ones.
#
# A user may have 200 keys (kernel.keys.maxkeys). A service keeps tokens as keys that live for a second. When all have
# expired, none can be read, and an engineer expects room for 200 others. But an expired key counts until the kernel
# collects it, five minutes later (kernel.keys.gc_delay): until then each add_key(2) fails with "Disk quota exceeded". So
# a user can have 40 new tokens a minute, however short they live. A key that is unlinked makes room at once.
# User-Mode Linux 6.1.176 of Debian 12, and 7.2.7.
#
# Needs root, gcc, libc6-dev, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/expected" <<'END'
Linux 6.1: after 199 keys of 1 s: Disk quota exceeded
Linux 6.1: the last of them 4 s later: Key has expired
Linux 6.1: a new key then: Disk quota exceeded
Linux 6.1: gc_delay is 300 s
Linux 6.1: a new key when 10 are unlinked: added
Linux 7.2: after 199 keys of 1 s: Disk quota exceeded
Linux 7.2: the last of them 4 s later: Key has expired
Linux 7.2: a new key then: Disk quota exceeded
Linux 7.2: gc_delay is 300 s
Linux 7.2: a new key when 10 are unlinked: added
END
cat >"$work/init.c" <<'END'
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static struct utsname name;

static long add(const char *key, const char *value)
{
	return syscall(SYS_add_key, "user", key, value, strlen(value), KEY_SPEC_SESSION_KEYRING);
}

static void set_timeout(long key, unsigned int seconds)
{
	syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds);
}

static const char *result(long got, const char *good)
{
	return got < 0 ? strerror(errno) : good;
}

/* Runs as a user, who has one key already: the keyring of the session. */
static void run(void)
{
	long keys[1000], key;
	char text[20] = "";
	unsigned int i, j;
	FILE *delay;

	setgid(1000);
	setuid(1000);
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	for (i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "token %u", i);
		keys[i] = add(text, "value");
		if (keys[i] < 0)
			break;
		set_timeout(keys[i], 1);
	}
	printf("found Linux %s: after %u keys of 1 s: %s\n", name.release, i, result(keys[i], "added"));
	sleep(4);
	key = syscall(SYS_keyctl, KEYCTL_READ, keys[i - 1], text, sizeof(text));
	printf("found Linux %s: the last of them 4 s later: %s\n", name.release, result(key, "read"));
	key = add("new", "value");
	printf("found Linux %s: a new key then: %s\n", name.release, result(key, "added"));
	delay = fopen("/proc/sys/kernel/keys/gc_delay", "r");
	printf("found Linux %s: gc_delay is %d s\n", name.release, delay && fscanf(delay, "%d", &j) == 1 ? j : -1);
	for (j = 0; j < 10; j++)
		syscall(SYS_keyctl, KEYCTL_UNLINK, keys[i - 1 - j], KEY_SPEC_SESSION_KEYRING);
	sleep(1);
	key = add("new", "value");
	printf("found Linux %s: a new key when 10 are unlinked: %s\n", name.release, result(key, "added"));
	fflush(stdout);
}

int main(void)
{
	uname(&name);
	mount("none", "/proc", "proc", 0, NULL);
	if (!fork()) {
		run();
		_exit(0);
	}
	wait(NULL);
	return reboot(RB_POWER_OFF);
}
END
gcc -O2 -static -o "$work/init" "$work/init.c"
for release in bookworm=6.1um4+b13 sid=7.2um1; do
	root=$work/${release%%=*}
	mmdebstrap --quiet --variant=extract --include="user-mode-linux=${release#*=}" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' "${release%%=*}" "$root" \
		"$mirror" 2>"$work/log" || {
		cat "$work/log" >&2
		exit 1
	}
	mkdir -p "$root/guest/proc" "$root/guest/one" "$root/guest/two" "$root/proc"
	for folder in bin lib lib64; do
		[ -e "$root/$folder" ] || ln -s usr/$folder "$root/$folder"
	done
	cp "$work/init" "$root/guest"
	# shellcheck disable=SC2016 # for the inner shell
	timeout 80 unshare -m sh -c 'mount --bind /proc "$0/proc"
exec env -i HOME=/tmp TMPDIR=/tmp PATH=/usr/bin:/usr/sbin chroot "$0" /usr/bin/linux.uml mem=256M rootfstype=hostfs \
	rootflags=/guest rw init=/init con=null con0=fd:0,fd:1 quiet' "$root" </dev/null 2>&1 | tr -d '\r' |
		sed -n 's/^found //p'
done >"$work/found"
cat "$work/found"
sed 's/^Linux \([0-9]*\.[0-9]*\)\.[0-9]*:/Linux \1:/' "$work/found" | diff "$work/expected" -
