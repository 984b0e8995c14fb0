/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * process.h - helpers for tests with several processes: run work as another user, pass
 * descriptors, wait until a process sleeps in a given system call.
 */
#ifndef _PROCESS_H
#define _PROCESS_H

#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>

#include "device.h"

/* The result of as() if the process returned none. */
#define NO_RESULT	0x40000000u

static inline void become(uid_t uid, gid_t gid, gid_t group)
{
	if (!uid)
		return;
	if (setgroups(!!group, &group) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid))
		_exit(99);
	/* Otherwise the process's files in /proc would still belong to the superuser. */
	prctl(PR_SET_DUMPABLE, 1);
}

/* Runs @work in a process of its own, as user @uid; returns its result, or NO_RESULT. */
static inline unsigned int as(uid_t uid, gid_t gid, gid_t group,
			      unsigned int (*work)(const void *arg), const void *arg)
{
	unsigned int result = NO_RESULT;
	int pipes[2], status;
	pid_t child;

	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	fflush(stdout);
	child = fork();
	if (!child) {
		become(uid, gid, group);
		result = work(arg);
		_exit(write(pipes[1], &result, sizeof(result)) != sizeof(result));
	}
	close(pipes[1]);
	if (child < 0 || read(pipes[0], &result, sizeof(result)) != sizeof(result))
		result = NO_RESULT;
	waitpid(child, &status, 0);
	close(pipes[0]);
	return result;
}

/* Writes a line into a file of /proc; false if that fails. */
static inline bool write_line(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/* Moves into a new user namespace as its superuser, which outside is the same user as before. */
static inline bool enter_namespace(void)
{
	char uid_map[32], gid_map[32];

	snprintf(uid_map, sizeof(uid_map), "0 %u 1", getuid());
	snprintf(gid_map, sizeof(gid_map), "0 %u 1", getgid());
	return !unshare(CLONE_NEWUSER) && write_line("/proc/self/uid_map", uid_map) &&
	       write_line("/proc/self/setgroups", "deny") &&
	       write_line("/proc/self/gid_map", gid_map);
}

/* Gives up all capabilities of this process but @kept, a mask of 1 << CAP_*, 31 at most. */
static inline bool keep_capabilities(__u32 kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { kept, kept, 0 } };

	return !syscall(SYS_capset, &header, data);
}

/* Whether the belts that this process makes from now on have no limits but the module's. */
static inline void set_exempt(bool exempt)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		bail_out("capget: %s", strerror(errno));
	data[0].effective &= ~(1u << CAP_SYS_RESOURCE);
	if (exempt)
		data[0].effective |= 1u << CAP_SYS_RESOURCE;
	if (syscall(SYS_capset, &header, data))
		bail_out("capset: %s", strerror(errno));
}

/* Runs @work in a process of its own; its exit status is the only result. */
static inline pid_t start(int (*work)(void *arg), void *arg)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		bail_out("fork: %s", strerror(errno));
	if (!child)
		_exit(work(arg));
	return child;
}

/* When this returns, the kernel has closed all descriptors of the process. */
static inline void kill_and_wait(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/*
 * Waits for a process; returns its exit status, or 256 if a signal ended it. A process that
 * still runs after a minute or more is killed: 257.
 */
static inline int finish(pid_t child)
{
	unsigned int tries;
	int status;
	pid_t ended;

	for (tries = 0; tries < 60000; tries++) {
		ended = waitpid(child, &status, WNOHANG);
		if (ended < 0)
			bail_out("waitpid: %s", strerror(errno));
		if (ended)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
		usleep(1000);
	}
	kill_and_wait(child);
	return 257;
}

static inline void send_descriptor(int socket, int fd)
{
	char space[CMSG_SPACE(sizeof(fd))] = "", byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = space, .msg_controllen = sizeof(space),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	if (sendmsg(socket, &message, 0) != 1)
		bail_out("sendmsg: %s", strerror(errno));
}

static inline int receive_descriptor(int socket)
{
	char space[CMSG_SPACE(sizeof(int))] = "", byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = space, .msg_controllen = sizeof(space),
	};
	int fd = -1;

	if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/*
 * The system calls behind poll(), epoll_wait() and pause() of the C library. Newer ports of
 * Linux, such as arm64, have only the p variants.
 */
#ifdef __NR_poll
#define CALL_POLL __NR_poll
#define CALL_EPOLL_WAIT __NR_epoll_wait
#define CALL_PAUSE __NR_pause
#else
#define CALL_POLL __NR_ppoll
#define CALL_EPOLL_WAIT __NR_epoll_pwait
#define CALL_PAUSE __NR_ppoll
#endif

/* The first line of /proc/@thread/@name; empty if the file cannot be read. */
static inline void read_line(pid_t thread, const char *name, char *text, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", thread, name);
	text[0] = 0;
	file = fopen(path, "r");
	if (!file)
		return;
	if (!fgets(text, size, file))
		text[0] = 0;
	fclose(file);
}

/*
 * True if a thread sleeps in the system call @number, in one of the @states of proc(5).
 * /proc/PID/syscall also shows a thread that is being woken on another processor;
 * /proc/PID/stat shows such a thread as runnable.
 */
static inline bool is_in_call(pid_t thread, long number, const char *states)
{
	char text[256];
	const char *state;

	read_line(thread, "stat", text, sizeof(text));
	state = strrchr(text, ')');
	if (!state || !strchr(states, state[2]))
		return false;
	read_line(thread, "syscall", text, sizeof(text));
	return text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) == number;
}

/* True if a thread sleeps in the system call @number. */
static inline bool sleeps_in(pid_t thread, long number)
{
	return is_in_call(thread, number, "SD");
}

/*
 * sleeps_in() where signals wake the thread. On a real-time kernel a thread that only waits
 * for a spinlock sleeps, too, in state D.
 */
static inline bool waits_in(pid_t thread, long number)
{
	return is_in_call(thread, number, "S");
}

/* Waits until @sleeps; ends the program if the thread still does not sleep after 20 s or more. */
static inline void await(bool (*sleeps)(pid_t thread, long number), pid_t thread, long number)
{
	unsigned int tries = 0;

	while (!sleeps(thread, number)) {
		if (++tries > 20000)
			bail_out("process %d never slept in system call %ld", thread,
				 number);
		usleep(1000);
	}
}

static inline void await_sleep(pid_t thread, long number)
{
	await(sleeps_in, thread, number);
}

/* Stops a child. When this returns, the child has left its system call, and runs no more. */
static inline void stop_child(pid_t child)
{
	int status = 0;

	kill(child, SIGSTOP);
	if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
		bail_out("process %d does not stop: status %#x", child, status);
}

/* Stops a child and continues it. When this returns, the child is runnable or sleeps again. */
static inline void stop_and_continue(pid_t child)
{
	stop_child(child);
	kill(child, SIGCONT);
}

/* Waits up to 20 s for @fd to become readable. */
static inline bool readable_at_last(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 20000) == 1;
}

/* A process that makes one call, and stays until it is ended. */
struct caller {
	pid_t pid;
	int answers;	/* pipe, for the result */
};

static inline void on_signal(int number)
{
	(void)number;
}

/*
 * Starts a process that has the result of @work. It handles SIGUSR1, and keeps no descriptor but
 * @fd open, which its parent may close.
 */
static inline struct caller start_caller(int (*work)(void *arg), void *arg, int fd,
					 int signal_flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = signal_flags };
	int pipes[2], other, result;
	struct caller caller;

	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	fflush(stdout);
	caller = (struct caller){ fork(), pipes[0] };
	if (caller.pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (!caller.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (other = 3; other < 64; other++)
			if (other != fd && other != pipes[1])
				close(other);
		sigaction(SIGUSR1, &action, NULL);
		result = work(arg);
		if (write(pipes[1], &result, sizeof(result)) != sizeof(result))
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	return caller;
}

/* The result of a caller; -ETIME if there is none within 20 s. */
static inline int result_of(const struct caller *caller)
{
	int result = -ETIME;

	if (readable_at_last(caller->answers) &&
	    read(caller->answers, &result, sizeof(result)) != sizeof(result))
		result = -ECHILD;
	return result;
}

/*
 * True if a caller has no result within 20 ms, since a wrong one may come late, and sleeps in an
 * ioctl then.
 */
static inline bool still_calls(const struct caller *caller)
{
	struct pollfd pollfd = { .fd = caller->answers, .events = POLLIN };
	unsigned int tries;

	for (tries = 0; tries < 1000 && !poll(&pollfd, 1, 20); tries++)
		if (sleeps_in(caller->pid, __NR_ioctl))
			return !poll(&pollfd, 1, 0);
	return false;
}

/* When this returns, the kernel has closed the caller's descriptor. */
static inline void end_caller(const struct caller *caller)
{
	kill_and_wait(caller->pid);
	close(caller->answers);
}

/* Memory that is shared with forked processes. */
static inline void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bail_out("mmap of %zu bytes: %s", size, strerror(errno));
	return p;
}

/* Writes to @size bytes of new memory. False: there is no such memory. */
static inline bool touch_pages(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t at;

	if (memory == MAP_FAILED)
		return false;
	for (at = 0; at < size; at += 4096)
		memory[at] = 1;
	return !munmap(memory, size);
}

/* Lets the kernel's shrinkers free all that they can. */
static inline void drop_caches(void)
{
	if (!write_line("/proc/sys/vm/drop_caches", "2"))
		bail_out("drop_caches: %s", strerror(errno));
}

/* Time */

static inline __u64 wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static inline __s64 clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

#endif /* _PROCESS_H */
