/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * lock.h - helpers for tests of locks.
 *
 * Names and owners are texts. A locker is a process with a descriptor of its own: it takes
 * one lock, and then runs the commands that it receives.
 */
#ifndef _LOCK_H
#define _LOCK_H

#include "events.h"

#define FOR_EVER	HASHBELT_TTL_NEVER

/* A nameless, halted belt for locks. */
static inline int lock_belt(void)
{
	return new_belt(HASHBELT_PINNED);
}

/* A named, halted belt for locks. */
static inline int named_locks(const char *name)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL, .mode = 0600, .policy = HASHBELT_PINNED,
	};
	int fd = open_device(O_RDWR);

	snprintf(settings.name, sizeof(settings.name), "%s", name);
	must(fd, HASHBELT_IOC_CREATE, &settings);
	must(fd, HASHBELT_IOC_HALT, NULL);
	return fd;
}

static inline void end_locks(int fd, const char *name)
{
	if (destroy_belt(fd, name))
		bail_out("destroy of %s", name);
	close(fd);
}

static inline struct hashbelt_lock lock_of(const char *key, const char *owner)
{
	return (struct hashbelt_lock){
		.key = address(key), .key_len = strlen(key),
		.owner = address(owner), .owner_len = strlen(owner),
	};
}

/* Takes a lock without waiting; 0 or a negative errno. */
static inline int take(int fd, const char *key, const char *owner, __u64 ttl_ms)
{
	struct hashbelt_lock lock = lock_of(key, owner);

	lock.ttl_ms = ttl_ms;
	return call(fd, HASHBELT_IOC_LOCK, &lock);
}

/*
 * Takes a lock for @ttl_ms, or the belt's time-to-live if it is 0; ends the program on
 * failure.
 */
static inline struct hashbelt_lock must_take(int fd, const char *key, const char *owner,
					     __u64 ttl_ms)
{
	struct hashbelt_lock lock = lock_of(key, owner);

	lock.ttl_ms = ttl_ms;
	must(fd, HASHBELT_IOC_LOCK, &lock);
	return lock;
}

/* must_take() of a lock that is bound to the descriptor. */
static inline struct hashbelt_lock must_bind(int fd, const char *key, const char *owner,
					     __u64 ttl_ms)
{
	struct hashbelt_lock lock = lock_of(key, owner);

	lock.ttl_ms = ttl_ms;
	lock.how = HASHBELT_BOUND;
	must(fd, HASHBELT_IOC_LOCK, &lock);
	return lock;
}

static inline int unlock(int fd, const char *key, const char *owner)
{
	struct hashbelt_lock lock = lock_of(key, owner);

	return call(fd, HASHBELT_IOC_UNLOCK, &lock);
}

static inline int renew(int fd, const char *key, const char *owner, __u64 ttl_ms)
{
	struct hashbelt_lock lock = lock_of(key, owner);

	lock.ttl_ms = ttl_ms;
	return call(fd, HASHBELT_IOC_RENEW, &lock);
}

/* The number of locks that a release of all locks of @owner has unlocked, or a negative errno. */
static inline int release(int fd, const char *owner)
{
	struct hashbelt_lock lock = lock_of("", owner);
	int err;

	lock.key = 0;
	err = call(fd, HASHBELT_IOC_RELEASE, &lock);
	return err ? err : (int)lock.count;
}

/**
 * struct holder - the result of a holder call
 * @err:	0 if the lock is held; -ENOENT if not, and all other fields are 0
 * @owner:	the owner, as a text
 * @token:	the fencing token
 * @ttl_ms:	time left of the lease
 * @held_ms:	time since the grant
 */
struct holder {
	int err;
	char owner[HASHBELT_OWNER_MAX + 1];
	__u64 token;
	__u64 ttl_ms;
	__u64 held_ms;
};

static inline struct holder holder_of(int fd, const char *key)
{
	struct holder holder = {};
	struct hashbelt_lock lock = lock_of(key, "");

	lock.owner = address(holder.owner);
	lock.owner_len = HASHBELT_OWNER_MAX;
	holder.err = call(fd, HASHBELT_IOC_HOLDER, &lock);
	if (holder.err)
		return holder;
	holder.token = lock.token;
	holder.ttl_ms = lock.ttl_ms;
	holder.held_ms = lock.held_ms;
	return holder;
}

static inline bool is_free(int fd, const char *key)
{
	return holder_of(fd, key).err == -ENOENT;
}

static inline bool is_held_by(int fd, const char *key, const char *owner)
{
	struct holder holder = holder_of(fd, key);

	return !holder.err && !strcmp(holder.owner, owner);
}

static inline __u64 locks_held(int fd)
{
	return info_of(fd).locks;
}

/**
 * struct locker - a process that takes a lock
 * @pid:	the process
 * @answers:	pipe from which its results are read, one struct answer each
 * @words:	pipe to which commands are written, one letter each:
 *		'u' unlock, 'l' lock again. The process exits when this pipe is closed
 */
struct locker {
	pid_t pid;
	int answers;
	int words;
};

/**
 * struct answer - the result of one call
 * @err:	0 or a negative errno
 * @wait_ms:	the argument's @wait_ms after a lock call
 * @now_ns:	belt time after the call; 0 if the belt is gone
 */
struct answer {
	int err;
	__u64 wait_ms;
	__u64 now_ns;
};

/**
 * struct lock_call - the first call of a locker
 * @belt:	name of the belt
 * @key:	name of the lock
 * @owner:	owner of the lock
 * @ttl_ms:	the lease
 * @wait_ms:	how long to wait for the lock
 * @signal_flags: sa_flags of the handler for SIGUSR1
 * @read_only:	the argument of the lock call is in read-only memory
 */
struct lock_call {
	const char *belt;
	const char *key;
	const char *owner;
	__u64 ttl_ms;
	__u64 wait_ms;
	int signal_flags;
	bool read_only;
};

/* A copy in read-only memory. */
static inline struct hashbelt_lock *read_only_lock(const struct hashbelt_lock *lock)
{
	void *page = mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		bail_out("mmap: %s", strerror(errno));
	memcpy(page, lock, sizeof(*lock));
	mprotect(page, sizeof(*lock), PROT_READ);
	return page;
}

static inline struct answer run_word(int fd, const struct lock_call *lock_call, char word)
{
	struct hashbelt_lock lock = lock_of(lock_call->key, lock_call->owner);
	struct hashbelt_info info = {};
	struct answer answer = {};

	if (word == 'l') {
		lock.ttl_ms = lock_call->ttl_ms;
		lock.wait_ms = lock_call->wait_ms;
		answer.err = call(fd, HASHBELT_IOC_LOCK,
				  lock_call->read_only ? read_only_lock(&lock) : &lock);
		answer.wait_ms = lock.wait_ms;
	} else {
		answer.err = call(fd, HASHBELT_IOC_UNLOCK, &lock);
	}
	if (!call(fd, HASHBELT_IOC_INFO, &info))
		answer.now_ns = info.now_ns;
	return answer;
}

/* Reads the next command; false when the pipe is closed. */
static inline bool next_word(int fd, char *word)
{
	ssize_t len;

	do
		len = read(fd, word, 1);
	while (len < 0 && errno == EINTR);
	return len == 1;
}

/* The body of a locker. It closes every descriptor but its two pipes. */
static inline _Noreturn void be_locker(const struct lock_call *lock_call, int words,
				       int answers)
{
	struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = lock_call->signal_flags,
	};
	struct answer answer;
	char word = 'l';
	int fd;

	/* A locker must not outlive its test. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(words, 3) != 3 || dup2(answers, 4) != 4 || close_range(5, ~0u, 0))
		_exit(98);
	sigaction(SIGUSR1, &action, NULL);
	fd = open_device(O_RDWR);
	if (open_belt(fd, lock_call->belt))
		_exit(97);
	do {
		answer = run_word(fd, lock_call, word);
		if (write(4, &answer, sizeof(answer)) != sizeof(answer))
			_exit(96);
	} while (next_word(3, &word));
	_exit(0);
}

/*
 * A pipe whose descriptors are above those that a locker uses itself (3, 4 and one for the
 * device).
 */
static inline void high_pipe(int *pipes)
{
	int low[2];

	if (pipe(low))
		bail_out("pipe: %s", strerror(errno));
	pipes[0] = fcntl(low[0], F_DUPFD_CLOEXEC, 10);
	pipes[1] = fcntl(low[1], F_DUPFD_CLOEXEC, 10);
	if (pipes[0] < 0 || pipes[1] < 0)
		bail_out("dup: %s", strerror(errno));
	close(low[0]);
	close(low[1]);
}

static inline struct locker launch(struct lock_call lock_call)
{
	int words[2], answers[2];
	struct locker locker;

	high_pipe(words);
	high_pipe(answers);
	fflush(stdout);
	locker.pid = fork();
	if (locker.pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (!locker.pid)
		be_locker(&lock_call, words[0], answers[1]);
	close(words[0]);
	close(answers[1]);
	locker.words = words[1];
	locker.answers = answers[0];
	return locker;
}

/* Launches a locker, and waits until it has its place in the line. */
static inline struct locker launch_asleep(struct lock_call lock_call)
{
	struct locker locker = launch(lock_call);

	await(waits_in, locker.pid, __NR_ioctl);
	return locker;
}

/* The next result of a locker; -ETIME if there is none within 20 s. */
static inline struct answer answer_of(const struct locker *locker)
{
	struct answer answer = { .err = -ETIME };

	if (readable_at_last(locker->answers) &&
	    read(locker->answers, &answer, sizeof(answer)) != sizeof(answer))
		answer.err = -ECHILD;
	return answer;
}

/* True if the locker has no result within 20 ms and sleeps: a wrong result may come late. */
static inline bool still_waits(const struct locker *locker)
{
	struct pollfd pollfd = { .fd = locker->answers, .events = POLLIN };

	return poll(&pollfd, 1, 20) == 0 && sleeps_on(locker->pid, locker->answers);
}

static inline void say(const struct locker *locker, char word)
{
	if (write(locker->words, &word, 1) != 1)
		bail_out("a locker is gone: %s", strerror(errno));
}

/* Sends a command to a locker; returns the result. */
static inline struct answer tell(const struct locker *locker, char word)
{
	say(locker, word);
	return answer_of(locker);
}

/* When this returns, the kernel has closed the locker's descriptor. */
static inline void end_locker(const struct locker *locker)
{
	kill_and_wait(locker->pid);
	close(locker->words);
	close(locker->answers);
}

#endif /* _LOCK_H */
