#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# freezer-interrupts-waits.sh - which waits end early when a cgroup is frozen and thawed, as by "docker pause".
#
# A process without a handler for any signal waits for up to 4 s. It is frozen for a second, and sent no signal. An
# engineer expects each wait to go on after the thaw, as poll(), nanosleep(), a futex and a message queue do. But
# epoll_wait(), semtimedop(), sigtimedwait(), and recv() with SO_RCVTIMEO return EINTR at once. So a lock by
# semtimedop(), or a request to a cache with a timeout, fails because of a pause. signal(7) says so of SIGSTOP alone.
# With the freezer of version 1, which cgroups had before, epoll_wait() and semtimedop() do so too, recv() does not,
# and sigtimedwait() does in Linux 6.1 and not in 7.2. User-Mode Linux 6.1.176 of Debian 12, and 7.2.7.
#
# Needs root, gcc, libc6-dev, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/expected" <<'END'
Linux 6.1: version 2, epoll_wait: interrupted
Linux 6.1: version 2, semtimedop: interrupted
Linux 6.1: version 2, sigtimedwait: interrupted
Linux 6.1: version 2, recv: interrupted
Linux 6.1: version 2, poll: waits on
Linux 6.1: version 2, nanosleep: waits on
Linux 6.1: version 2, futex: waits on
Linux 6.1: version 2, mq_timedreceive: waits on
Linux 6.1: version 1, epoll_wait: interrupted
Linux 6.1: version 1, semtimedop: interrupted
Linux 6.1: version 1, sigtimedwait: interrupted
Linux 6.1: version 1, recv: waits on
Linux 6.1: version 1, poll: waits on
Linux 6.1: version 1, nanosleep: waits on
Linux 6.1: version 1, futex: waits on
Linux 6.1: version 1, mq_timedreceive: waits on
Linux 7.2: version 2, epoll_wait: interrupted
Linux 7.2: version 2, semtimedop: interrupted
Linux 7.2: version 2, sigtimedwait: interrupted
Linux 7.2: version 2, recv: interrupted
Linux 7.2: version 2, poll: waits on
Linux 7.2: version 2, nanosleep: waits on
Linux 7.2: version 2, futex: waits on
Linux 7.2: version 2, mq_timedreceive: waits on
Linux 7.2: version 1, epoll_wait: interrupted
Linux 7.2: version 1, semtimedop: interrupted
Linux 7.2: version 1, sigtimedwait: waits on
Linux 7.2: version 1, recv: waits on
Linux 7.2: version 1, poll: waits on
Linux 7.2: version 1, nanosleep: waits on
Linux 7.2: version 1, futex: waits on
Linux 7.2: version 1, mq_timedreceive: waits on
END
cat >"$work/init.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct timespec limit = { .tv_sec = 4 };

static long by_epoll_wait(void)
{
	struct epoll_event event;

	return epoll_wait(epoll_create1(0), &event, 1, 4000);
}

static long by_semtimedop(void)
{
	struct sembuf down = { .sem_op = -1 };

	return semtimedop(semget(IPC_PRIVATE, 1, 0600), &down, 1, &limit);
}

static long by_sigtimedwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return sigtimedwait(&set, NULL, &limit);
}

static long by_recv(void)
{
	struct timeval timeout = { .tv_sec = 4 };
	int pair[2];
	char byte;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	return recv(pair[0], &byte, 1, 0);
}

static long by_poll(void)
{
	return poll(NULL, 0, 4000);
}

static long by_nanosleep(void)
{
	return nanosleep(&limit, NULL);
}

static long by_futex(void)
{
	int word = 0;

	return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &limit, NULL, 0);
}

static long by_mq_timedreceive(void)
{
	struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	mqd_t queue = mq_open("/queue", O_CREAT | O_RDWR, 0600, &attributes);
	struct timespec until;
	char message[8];

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 4;
	return mq_timedreceive(queue, message, sizeof(message), NULL, &until);
}

static const struct {
	const char *name;
	long (*wait)(void);
} waits[] = {
	{ "epoll_wait", by_epoll_wait }, { "semtimedop", by_semtimedop }, { "sigtimedwait", by_sigtimedwait },
	{ "recv", by_recv }, { "poll", by_poll }, { "nanosleep", by_nanosleep }, { "futex", by_futex },
	{ "mq_timedreceive", by_mq_timedreceive },
};

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("found %s: %s\n", path, strerror(errno));
	close(fd);
}

/* Freezes a group of processes, each in another wait, and prints how these ended, in the order of the table. */
static void freeze(const char *kernel, const char *what, const char *group, const char *file, const char *frozen,
		   const char *thawed)
{
	unsigned int count = sizeof(waits) / sizeof(*waits), i;
	char words[sizeof(waits) / sizeof(*waits)][100];
	int pipes[sizeof(waits) / sizeof(*waits)][2];

	mkdir(group, 0755);
	for (i = 0; i < count; i++) {
		pipe(pipes[i]);
		if (!fork()) {
			int status = chdir(group);

			put("cgroup.procs", "0");
			errno = 0;
			waits[i].wait();
			snprintf(words[i], sizeof(words[i]), "%s", errno == EINTR ? "interrupted" : "waits on");
			write(pipes[i][1], words[i], sizeof(words[i]));
			_exit(status);
		}
	}
	sleep(1);
	chdir(group);
	put(file, frozen);
	sleep(1);
	put(file, thawed);
	chdir("/");
	for (i = 0; i < count; i++) {
		read(pipes[i][0], words[i], sizeof(words[i]));
		printf("found Linux %s: %s, %s: %s\n", kernel, what, waits[i].name, words[i]);
		wait(NULL);
	}
}

int main(void)
{
	struct utsname name;

	uname(&name);
	mount("none", "/one", "cgroup", 0, "freezer");
	mount("none", "/two", "cgroup2", 0, NULL);
	freeze(name.release, "version 2", "/two/group", "cgroup.freeze", "1", "0");
	freeze(name.release, "version 1", "/one/group", "freezer.state", "FROZEN", "THAWED");
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
