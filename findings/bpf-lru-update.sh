#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# bpf-lru-update.sh - how many entries of a full LRU map of BPF the update of a present key evicts.
#
# The map has 100 entries, as many as max_entries, which no program has looked up. Then the value of one of them is
# replaced, for which no entry has to go. Linux 6.1 evicts all 100 first, also the one whose value is replaced: with
# BPF_ANY one entry is left, with BPF_EXIST the call fails with ENOENT and none is left, and with BPF_NOEXIST the call
# succeeds. Linux 7.2 evicts 50, also if BPF_NOEXIST then fails with EEXIST. The kernel takes a free element before it
# searches for the key, and if there is none, it evicts up to 128 entries; in 7.2, at most half of a processor's share
# of the map. User-Mode Linux 6.1.176 of Debian 12, and 7.2.7. Linux 6.18 on two processors evicted 25.
#
# Needs root, gcc, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/update.c" <<'END'
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ENTRIES 100

static int map;

static int element(int command, uint32_t key, uint64_t flags)
{
	uint32_t value = 1;
	union bpf_attr words = {
		.map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)&value, .flags = flags,
	};

	return syscall(__NR_bpf, command, &words, sizeof(words)) ? errno : 0;
}

static int present(void)
{
	int count = 0;

	for (uint32_t key = 0; key < ENTRIES; key++)
		count += !element(BPF_MAP_LOOKUP_ELEM, key, 0);
	return count;
}

int main(void)
{
	static const char *const names[] = { "BPF_ANY", "BPF_NOEXIST", "BPF_EXIST" };
	struct utsname name;

	uname(&name);
	for (uint64_t flags = BPF_ANY; flags <= BPF_EXIST; flags++) {
		union bpf_attr words = {
			.map_type = BPF_MAP_TYPE_LRU_HASH, .key_size = 4, .value_size = 4, .max_entries = ENTRIES,
		};
		int before, error;

		map = syscall(__NR_bpf, BPF_MAP_CREATE, &words, sizeof(words));
		if (map < 0)
			return perror("bpf"), 1;
		for (uint32_t key = 0; key < ENTRIES; key++)
			element(BPF_MAP_UPDATE_ELEM, key, BPF_ANY);
		before = present();
		error = element(BPF_MAP_UPDATE_ELEM, ENTRIES - 1, flags);
		printf("found: Linux %s, %s of a present key: %s, %d entries before and %d after\n", name.release,
		       names[flags], error ? strerror(error) : "done", before, present());
		close(map);
	}
	return reboot(RB_POWER_OFF);
}
END
gcc -static -o "$work/init" "$work/update.c"
for release in bookworm=6.1um4+b13 sid=7.2um1; do
	root=$work/${release%%=*}
	mmdebstrap --quiet --variant=extract --include="user-mode-linux=${release#*=}" --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Install-Recommends "false"' "${release%%=*}" "$root" "$mirror" 2>"$work/log" || {
		cat "$work/log" >&2
		exit 1
	}
	[ -e "$root/lib64" ] || ln -s usr/lib64 "$root/lib64"
	mkdir -p "$root/guest/dev" "$root/proc"
	cp "$work/init" "$root/guest"
	# shellcheck disable=SC2016 # for the inner shell
	timeout 60 unshare -m sh -c 'mount --bind /proc "$0/proc"
exec env -i HOME=/tmp TMPDIR=/tmp PATH=/usr/bin:/usr/sbin chroot "$0" /usr/bin/linux.uml mem=128M rootfstype=hostfs \
	rootflags=/guest rw init=/init con=null con0=fd:0,fd:1 quiet' "$root" </dev/null 2>&1 | tr -d '\r' | grep '^found'
done >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
6.1. BPF_ANY of a present key: done, 100 entries before and 1 after
6.1. BPF_NOEXIST of a present key: done, 100 entries before and 1 after
6.1. BPF_EXIST of a present key: No such file or directory, 100 entries before and 0 after
7.2. BPF_ANY of a present key: done, 100 entries before and 50 after
7.2. BPF_NOEXIST of a present key: File exists, 100 entries before and 50 after
7.2. BPF_EXIST of a present key: done, 100 entries before and 50 after
END
sed 's/^found: Linux \([0-9]*\.[0-9]*\.\)[^,]*,/\1/' "$work/found" | diff "$work/expected" -
