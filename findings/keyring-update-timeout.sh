#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# keyring-update-timeout.sh - how long a key of the kernel's keyrings lives whose value was replaced.
#
# A session is a key of the type "user" that lives for two seconds, and a request stores a new value, by add_key(2) with
# the same name or by keyctl_update(3). An engineer expects the deadline to stay, or the time to begin anew. But the key
# lives for ever: both remove its timeout, which their manual pages do not say. So does an add_key(2) of a key that has
# expired: it revives the key, with the same id, and without a timeout. A timeout can only be set by a call of its own
# behind that. User-Mode Linux 6.1.176 of Debian 12, and 7.2.7.
#
# Needs root, gcc, libc6-dev, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/expected" <<'END'
Linux 6.1: left alone, after 4 s: Key has expired
Linux 6.1: added again, after 4 s: new
Linux 6.1: updated, after 4 s: new
Linux 6.1: added again when it had expired, the same id, after 4 s more: new
Linux 7.2: left alone, after 4 s: Key has expired
Linux 7.2: added again, after 4 s: new
Linux 7.2: updated, after 4 s: new
Linux 7.2: added again when it had expired, the same id, after 4 s more: new
END
cat >"$work/init.c" <<'END'
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
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

static void look(const char *what, long key)
{
	char value[8] = "";

	if (syscall(SYS_keyctl, KEYCTL_READ, key, value, sizeof(value) - 1) < 0)
		printf("found Linux %s: %s: %s\n", name.release, what, strerror(errno));
	else
		printf("found Linux %s: %s: %s\n", name.release, what, value);
}

int main(void)
{
	const char *const names[] = { "left", "added", "updated" };
	long keys[3], again;
	unsigned int i;

	uname(&name);
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	for (i = 0; i < 3; i++) {
		keys[i] = add(names[i], "value");
		set_timeout(keys[i], 2);
	}
	add(names[1], "new");
	syscall(SYS_keyctl, KEYCTL_UPDATE, keys[2], "new", 3);
	sleep(4);
	look("left alone, after 4 s", keys[0]);
	look("added again, after 4 s", keys[1]);
	look("updated, after 4 s", keys[2]);
	again = add(names[0], "new");
	sleep(4);
	look(again == keys[0] ? "added again when it had expired, the same id, after 4 s more" :
				"added again when it had expired, another id, after 4 s more", again);
	fflush(stdout);
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
