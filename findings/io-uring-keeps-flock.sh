#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# io-uring-keeps-flock.sh - whether the flock(2) of a process is free when waitpid(2) has returned.
#
# A parent starts a child that takes a lock, and waits for its end before it takes the lock itself. That has always been
# enough: exit closes the files before the parent is told. But if the child has registered the file with an io_uring
# (IORING_REGISTER_FILES), as servers do for speed, the ring has a reference to it, and a worker of the kernel takes the
# ring apart some 20 ms later. So LOCK_NB fails with EWOULDBLOCK after each exit, also by SIGKILL. And while the child
# lives, close(2) of its only descriptor frees nothing. User-Mode Linux 6.1.176 of Debian 12, and 7.2.7.
#
# Needs root, gcc, libc6-dev, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/expected" <<'END'
Linux 6.1: exit: busy after 0 of 20 ends
Linux 6.1: SIGKILL: busy after 0 of 20 ends
Linux 6.1: close: busy after 0 of 20 ends
Linux 6.1: registered, exit: busy after 20 of 20 ends
Linux 6.1: registered, SIGKILL: busy after 20 of 20 ends
Linux 6.1: registered, close: busy after 20 of 20 ends
Linux 7.2: exit: busy after 0 of 20 ends
Linux 7.2: SIGKILL: busy after 0 of 20 ends
Linux 7.2: close: busy after 0 of 20 ends
Linux 7.2: registered, exit: busy after 20 of 20 ends
Linux 7.2: registered, SIGKILL: busy after 20 of 20 ends
Linux 7.2: registered, close: busy after 20 of 20 ends
END
cat >"$work/init.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES	20

enum end { EXIT, KILLED, CLOSED };

static const char *const ends[] = { "exit", "SIGKILL", "close" };

static int register_file(int fd)
{
	struct io_uring_params params = {};
	int ring = syscall(SYS_io_uring_setup, 1, &params);

	return ring < 0 || syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1);
}

/* Takes the lock, and gives it up in the way that is tried. */
static void child(int registered, enum end end, int ready, int go)
{
	int fd = open("/two/lock", O_RDWR);
	char byte;

	if (fd < 0 || flock(fd, LOCK_EX) || (registered && register_file(fd)))
		_exit(1);
	if (end == KILLED)
		kill(getpid(), SIGKILL);
	if (end == CLOSED) {
		close(fd);
		write(ready, "", 1);
		read(go, &byte, 1);
	}
	_exit(0);
}

/* Return: whether the lock is taken when the child has ended, or has closed its file; -1: the child failed. */
static int is_busy(int registered, enum end end)
{
	int fd = open("/two/lock", O_RDWR | O_CREAT, 0600), status, busy, ready[2], go[2];
	pid_t pid;
	char byte;

	pipe(ready);
	pipe(go);
	pid = fork();
	if (!pid)
		child(registered, end, ready[1], go[0]);
	if (end == CLOSED)
		read(ready[0], &byte, 1);
	else
		waitpid(pid, &status, 0);
	busy = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	if (end == CLOSED) {
		write(go[1], "", 1);
		waitpid(pid, &status, 0);
	}
	/* The next try begins when the lock is free. */
	flock(fd, LOCK_EX);
	close(fd);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
	return status == (end == KILLED ? SIGKILL : 0) ? busy : -1;
}

int main(void)
{
	int registered, busy, i;
	struct utsname name;
	enum end end;

	uname(&name);
	mount("none", "/two", "tmpfs", 0, NULL);
	for (registered = 0; registered < 2; registered++) {
		for (end = EXIT; end <= CLOSED; end++) {
			for (i = busy = 0; i < TIMES; i++)
				busy += is_busy(registered, end);
			printf("found Linux %s: %s%s: busy after %d of %d ends\n", name.release,
			       registered ? "registered, " : "", ends[end], busy, TIMES);
		}
	}
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
