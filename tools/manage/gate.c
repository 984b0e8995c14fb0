// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gate.h"
#include "loader.h"

/*
 * The time that programs get to release the module once the device is closed, and the interval of
 * our looks, ms. A program that waits for the device also has a reference, for a moment each time.
 */
#define PATIENCE	5000
#define STEP		2

/* A shell adds it to the number of the signal that has ended a program. */
#define BY_SIGNAL	128

/* Those that ask us to end. SIGPIPE comes from a reader of our messages that has ended. */
static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };

/*
 * HASHBELT_RELOADING, locked; -1: it is not. Only root may open it: any user who can open a file
 * can lock it, and no reload could begin, or go on.
 */
static volatile sig_atomic_t lock = -1;

/**
 * gate_lock() - be the only one that exchanges the module
 *
 * Programs that find no device meanwhile wait, because HASHBELT_RELOADING is there.
 *
 * Return: STATUS_DONE, or another status after an error message.
 */
enum status gate_lock(void)
{
	struct stat stat = { 0 };

	/* A holder removes the file before it gives the lock up: look once we have the lock. */
	while (!stat.st_nlink) {
		if (lock >= 0)
			close(lock);
		lock = open(HASHBELT_RELOADING, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (lock < 0) {
			fail_cause(errno);
			return fail(STATUS_ERROR, "cannot make %s: %s", HASHBELT_RELOADING,
				    strerror(errno));
		}
		if (!flock(lock, LOCK_EX | LOCK_NB) && !fstat(lock, &stat))
			continue;
		close(lock);
		lock = -1;
		return fail(STATUS_NO,
			    "another 'hbctl reload-module' has locked %s: wait for its end",
			    HASHBELT_RELOADING);
	}
	return STATUS_DONE;
}

/**
 * gate_open() - open the device to all, and let another program exchange the module
 *
 * After gate_lock(). A signal's handler may call it.
 */
void gate_open(void)
{
	/* Another program may have closed the device since we opened it. */
	if (lock < 0)
		return;
	/* A signal's handler in the midst of this could open the device of the next reload. */
	gate_hold();
	/* A module that has no such parameter is open, too. */
	loader_close(false);
	unlink(HASHBELT_RELOADING);
	close(lock);
	lock = -1;
}

/* Nothing has been exchanged: the device must not stay closed. */
static void on_stop(int number)
{
	gate_open();
	signal(number, SIG_DFL);
	raise(number);
	/* The kernel discards the signal if we are the init process of a container. */
	if (getpid() == 1)
		_exit(BY_SIGNAL + number);
}

/**
 * gate_close() - close the device to other programs
 * @request:	the request; its --force accepts a module that cannot close the device
 *
 * After gate_lock(). A signal that ends us opens the device again, unless gate_hold() was called.
 * Programs that have the device open keep it: gate_is_left() tells.
 *
 * Return: STATUS_DONE, also if no module is loaded; or another status after an error message.
 */
enum status gate_close(struct request *request)
{
	struct sigaction action = { .sa_handler = on_stop }, old;
	size_t i;
	int err;

	/* Signals that our caller ignores, as nohup(1) does, stay ignored. */
	for (i = 0; i < ARRAY_SIZE(stop_signals); i++)
		if (!sigaction(stop_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(stop_signals[i], &action, NULL);
	err = loader_close(true);
	if (!err || (err == -ENOENT && !loader_is_loaded()))
		return STATUS_DONE;
	if (err == -ENOENT && request_option(request, "force"))
		return STATUS_DONE;
	if (err == -ENOENT)
		return fail(STATUS_NO,
			    "the loaded module is older than this hbctl and cannot close the device: end all programs that use it, and then use --force");
	fail_cause(err);
	return fail(STATUS_ERROR, "cannot close the device by its module's parameter closed: %s",
		    strerror(-err));
}

/**
 * gate_open_device() - open the device for us, although it is closed
 * @request:	the request; gets its @handle
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status gate_open_device(struct request *request)
{
	int fd = open(request->device, O_RDWR | O_EXCL | O_CLOEXEC);
	int err = fd < 0 ? -errno : hashbelt_fdopen(fd, &request->handle);

	if (err && fd >= 0)
		close(fd);
	return err ? fail_call(request, HASHBELT_CALL_OPEN, err) : STATUS_DONE;
}

/* Sleeps for a step. Return: whether the time is not over. */
static bool may_wait(unsigned int *waited)
{
	const struct timespec step = { .tv_nsec = STEP * 1000000 };

	nanosleep(&step, NULL);
	*waited += STEP;
	return *waited < PATIENCE;
}

/**
 * gate_is_left() - wait until no program uses the module that is closed
 * @users:	our own descriptors
 *
 * Return: whether only these are left.
 */
bool gate_is_left(long users)
{
	unsigned int waited = 0;

	while (loader_users() > users)
		if (!may_wait(&waited))
			return false;
	return true;
}

/**
 * gate_remove_module() - remove the module, after gate_is_left()
 *
 * Return: 0, or the negative errno of the kernel: -EWOULDBLOCK if it is used.
 */
int gate_remove_module(void)
{
	unsigned int waited = 0;
	int err;

	do
		err = loader_remove();
	while (err == -EWOULDBLOCK && may_wait(&waited));
	return err;
}

/**
 * gate_hold() - let no signal end us from here on
 *
 * From here on the device stays closed until gate_open(), also if we are killed.
 */
void gate_hold(void)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(stop_signals); i++)
		sigaddset(&set, stop_signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/**
 * gate_note() - note where the belts are, for a later --resume
 * @path:	the directory
 *
 * After gate_lock().
 *
 * Return: 0 or a negative errno.
 */
int gate_note(const char *path)
{
	char full[PATH_MAX];
	ssize_t len, wrote;

	/* --resume may run in another directory. */
	if (!realpath(path, full) || ftruncate(lock, 0))
		return -errno;
	len = strlen(full);
	wrote = pwrite(lock, full, len, 0);
	if (wrote < 0)
		return -errno;
	return wrote == len ? 0 : -EIO;
}

/**
 * gate_noted() - where a command that was killed has left the belts
 * @path:	returned: the directory
 * @size:	its size, bytes
 *
 * After gate_lock().
 *
 * Return: whether there is that directory.
 */
bool gate_noted(char *path, size_t size)
{
	ssize_t len = pread(lock, path, size - 1, 0);

	path[len > 0 ? len : 0] = '\0';
	return *path && !access(path, F_OK);
}
