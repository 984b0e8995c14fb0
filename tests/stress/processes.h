/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * processes.h - workers of a stress program: processes that are killed and started again.
 *
 * The program defines WORKERS, how many there are at a time, and LIVES, the most that are started.
 */
#ifndef _STRESS_PROCESSES_H
#define _STRESS_PROCESSES_H

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "stress.h"

/* Memory that all processes share. */
static inline void *share(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory != MAP_FAILED)
		return memory;
	printf("Bail out! no memory\n");
	exit(1);
}

/* Yields, sleeps for up to a millisecond, or does nothing. */
static inline void random_delay(uint64_t random)
{
	if (random % 4 == 0)
		sched_yield();
	else if (random % 64 == 1)
		usleep(random >> 32 & 1023);
}

static pid_t pids[WORKERS];
static unsigned int lives;

/* Starts a process that does @work, as worker @i and with the next number of a life. */
static inline void start_worker(unsigned int i, void (*work)(unsigned int life))
{
	unsigned int life = lives++;
	pid_t parent = getpid();

	fflush(stdout);
	pids[i] = fork();
	if (pids[i] < 0) {
		wrong("fork: %s", strerror(errno));
		exit(1);
	}
	if (pids[i])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	work(life);
	_exit(0);
}

static inline unsigned int alive(void)
{
	unsigned int i, count = 0;

	for (i = 0; i < WORKERS; i++)
		count += pids[i] > 0;
	return count;
}

/* Reaps workers that have ended. Restarts killed ones with @work, unless that is NULL. */
static inline void reap(void (*work)(unsigned int life))
{
	unsigned int i;
	int status;

	for (i = 0; i < WORKERS; i++) {
		if (pids[i] <= 0 || waitpid(pids[i], &status, WNOHANG) != pids[i])
			continue;
		pids[i] = 0;
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			wrong("a worker died by signal %d", WTERMSIG(status));
		if (WIFSIGNALED(status) && work && lives < LIVES)
			start_worker(i, work);
	}
}

/* Kills a worker. Not in the second half of the lives, so that the last ones finish. */
static inline void kill_one(uint64_t random)
{
	pid_t pid = pids[random % WORKERS];

	if (pid > 0 && lives < LIVES / 2)
		kill(pid, SIGKILL);
}

/* Kills the workers that are left, which wait for ever; returns their number. */
static inline unsigned int kill_all(void)
{
	unsigned int i, count = alive();

	for (i = 0; i < WORKERS; i++) {
		if (pids[i] <= 0)
			continue;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
		pids[i] = 0;
	}
	return count;
}

static inline void begin(void (*work)(unsigned int life))
{
	unsigned int i;

	lives = 0;
	for (i = 0; i < WORKERS; i++)
		start_worker(i, work);
}

static inline uint64_t used_bytes(void)
{
	FILE *file = fopen("/sys/module/hashbelt/parameters/used_bytes", "r");
	unsigned long long bytes = 0;

	if (!file || fscanf(file, "%llu", &bytes) != 1)
		wrong("used_bytes cannot be read");
	if (file)
		fclose(file);
	return bytes;
}

/* Waits until used_bytes has fallen to @bytes: memory is freed after a grace period. */
static inline int is_used_at_last(uint64_t bytes)
{
	unsigned int tries;

	for (tries = 0; tries < 10000; tries++) {
		if (used_bytes() <= bytes)
			return 1;
		usleep(1000);
	}
	return 0;
}

#endif /* _STRESS_PROCESSES_H */
