// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the belt free of values that are older than what the engine has told.
 *
 * There are two states. While it follows, each key that the engine tells is removed. Else the
 * engine is lost: the belt is cleared when that is noticed, again and again while it lasts, and
 * once more when changes are told again. Readers may go on to fill the belt all the time; they
 * store a value on condition of a fill lease that they got before they fetched it. Removing a key
 * and clearing end leases. So can a stale value stay?
 *
 * - While it follows: a value that was fetched before a change is removed, or its lease is ended,
 *   when the change is told. That is not later than --detect after the change, or the engine is
 *   lost then: see proof_age().
 * - A value that was stored while the engine is lost stays until the next clear, so for --offline.
 * - A value that was fetched before changes are told again is cleared, or its lease is ended, by
 *   the clear that begins to follow.
 * - A removal or a clear that fails is a loss of the engine. A clear is tried again until it is
 *   done, and it does not follow before.
 * - When the process ends, it clears last. A service manager clears for a process that was killed.
 */
#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/util.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "belt.h"
#include "clock.h"
#include "engine.h"
#include "follower.h"
#include "keys.h"
#include "log.h"
#include "metrics.h"
#include "options.h"

/* Questions in the time of --detect. */
#define QUESTIONS	4

/* The time between attempts doubles from the least to the most, milliseconds. */
#define PAUSE_MIN_MS	100
#define PAUSE_MAX_MS	5000

/* An attempt fails if it does not follow within this time, milliseconds. */
#define ATTEMPT_MS	10000

/* Time after which a failed clear is tried again, milliseconds. */
#define CLEAR_AGAIN_MS	100

/* Events beside those of the engine. */
enum {
	ON_QUESTION,		/* asks, and looks at the answers */
	ON_OFFLINE,		/* clears while the engine is lost */
	ON_OVER,		/* ends an attempt */
	ON_PAUSE,		/* begins one */
	ON_TIMEOUT,		/* ends one that takes too long */
	ON_SECOND,		/* looks at the belt, writes figures */
	ON_SIGTERM,
	ON_SIGINT,
	EVENTS
};

/**
 * struct follower - all of it
 * @options:	the command line
 * @ops:	the kind of engine
 * @engine:	the engine
 * @belt:	the belt
 * @base:	the events of the loop
 * @events:	the events
 * @is_following: each change is told
 * @is_over:	the attempt has failed, and is ended as soon as the engine's call has returned
 * @is_ready:	the service manager was told so
 * @had_belt:	the log has said that there is a belt
 * @clear_error: why the last clear failed, in the log already; 0: it did not
 * @failed:	nothing can be done: the exit status is not 0
 * @pause_ms:	time before the next attempt
 * @since:	when @is_following became what it is, by clock_us()
 * @reason:	of the last loss, in the log already
 * @metrics:	the figures
 * @metrics_error: why they could not be written, in the log already
 */
struct follower {
	const struct options *options;
	const struct engine_ops *ops;
	struct engine *engine;
	struct follow_belt *belt;
	struct event_base *base;
	struct event *events[EVENTS];
	bool is_following;
	bool is_over;
	bool is_ready;
	bool had_belt;
	int clear_error;
	bool failed;
	unsigned int pause_ms;
	uint64_t since;
	char reason[ENGINE_REASON_SIZE];
	struct metrics metrics;
	int metrics_error;
};

static struct timeval time_of(unsigned int ms)
{
	return (struct timeval){ .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
}

static void add_timer(struct follower *follower, unsigned int timer, unsigned int ms)
{
	struct timeval time = time_of(ms);

	/* Allocates nothing: libevent has made room when the event was made. */
	event_add(follower->events[timer], &time);
}

static void write_metrics(struct follower *follower)
{
	struct metrics *metrics = &follower->metrics;
	int err;

	if (!follower->options->metrics)
		return;
	metrics->is_following = follower->is_following;
	metrics->is_replica = follower->ops->is_replica(follower->engine);
	metrics->has_belt = follow_belt_is_there(follower->belt);
	metrics->delay = follower->ops->delay(follower->engine) / 1e6;
	metrics->removed = follow_belt_removed(follower->belt);
	metrics->clears = follow_belt_cleared(follower->belt);
	err = metrics_write(metrics, follower->options->metrics);
	if (err && err != follower->metrics_error)
		log_line(LOG_TROUBLE, "cannot write %s: %s", follower->options->metrics,
			 strerror(-err));
	follower->metrics_error = err;
}

/* Notes a state, and tells it. */
static void set_state(struct follower *follower, bool is_following, const char *text)
{
	if (follower->is_following != is_following || !follower->metrics.since) {
		follower->is_following = is_following;
		follower->since = clock_us();
		follower->metrics.since = time(NULL);
	}
	sd_notifyf(0, "STATUS=%s", text);
	write_metrics(follower);
}

/* Ends the program: an administrator has to do something. */
static void give_up(struct follower *follower, const char *reason)
{
	log_line(LOG_TROUBLE, "%s", reason);
	follower->failed = true;
	event_base_loopbreak(follower->base);
}

/* Says once that the belt has come or gone. */
static void note_belt(struct follower *follower)
{
	bool has_belt = follow_belt_is_there(follower->belt);

	if (has_belt && !follower->had_belt)
		log_line(LOG_TROUBLE, "there is a belt %s, which was cleared",
			 follower->options->belt);
	else if (!has_belt && follower->had_belt)
		log_line(LOG_TROUBLE,
			 "there is no belt %s, or hbfollow has no right to it: 'hbctl create %s --group hashbelt --mode 0660' makes one",
			 follower->options->belt, follower->options->belt);
	follower->had_belt = has_belt;
}

/*
 * Clears the belt. Return: 0, or an error: entries may be there. The log has the error, once for
 * clears that fail in the same way one after the other.
 */
static int clear(struct follower *follower)
{
	int err = follow_belt_clear(follower->belt), before = follower->clear_error;
	char text[BELT_REASON_SIZE];

	follower->clear_error = err;
	if (!err) {
		note_belt(follower);
		if (!follower->is_ready)
			sd_notify(0, "READY=1");
		follower->is_ready = true;
		return 0;
	}
	follow_belt_reason(follower->belt, err, text);
	if (belt_is_refused(err))
		give_up(follower, text);
	else if (err != before)
		log_line(LOG_TROUBLE, "cannot clear: %s", text);
	return err;
}

/* Plans the next clear: after a failed one it is soon. */
static void plan_clear(struct follower *follower, bool is_clear)
{
	unsigned int ms = follower->options->offline_ms;

	add_timer(follower, ON_OFFLINE, is_clear || ms < CLEAR_AGAIN_MS ? ms : CLEAR_AGAIN_MS);
}

static void clear_offline(struct follower *follower)
{
	plan_clear(follower, !clear(follower));
}

/* A reason that comes back at each attempt is logged once. */
static void log_loss(struct follower *follower, const char *reason)
{
	bool is_new = follower->is_following || strcmp(follower->reason, reason);

	log_line(is_new ? LOG_TROUBLE : LOG_CONNECTIONS, "%s: %s",
		 follower->is_following ? "lost" : "does not follow", reason);
	snprintf(follower->reason, sizeof(follower->reason), "%s", reason);
}

/*
 * The attempt has failed. The belt is cleared before anything else. The engine may be in the middle
 * of a call: its attempt is ended by an event of its own.
 */
static void lose(struct follower *follower, const char *reason)
{
	char text[ENGINE_REASON_SIZE + 32], *c;

	if (follower->is_over)
		return;
	follower->is_over = true;
	/* An attempt that fails changes nothing: clears are planned. */
	if (follower->is_following)
		clear_offline(follower);
	log_loss(follower, reason);
	if (follower->is_following) {
		follower->metrics.losses++;
		/* An engine that comes and goes is tried as rarely as one that stays away. */
		if (clock_us() - follower->since >= PAUSE_MAX_MS * 1000ULL)
			follower->pause_ms = PAUSE_MIN_MS;
	}
	snprintf(text, sizeof(text), "lost: %s", reason);
	/* An engine chooses some of the bytes: no line of these is for the service manager. */
	for (c = text; *c; c++)
		*c = iscntrl((unsigned char)*c) ? '?' : *c;
	set_state(follower, false, text);
	event_del(follower->events[ON_TIMEOUT]);
	event_active(follower->events[ON_OVER], EV_TIMEOUT, 0);
}

/* A change could not be carried out. */
static void lose_belt(struct follower *follower, int err)
{
	char text[BELT_REASON_SIZE], reason[ENGINE_REASON_SIZE];

	follow_belt_reason(follower->belt, err, text);
	if (belt_is_refused(err))
		give_up(follower, text);
	snprintf(reason, sizeof(reason), "%.*s", ENGINE_REASON_SIZE - 1, text);
	lose(follower, reason);
}

/* The calls of the engine */

static void on_following(void *owner)
{
	struct follower *follower = owner;
	const char *text;

	if (follower->is_over)
		return;
	text = follower->ops->is_replica(follower->engine) ? "follows a replica" :
							       "follows a primary";
	if (clear(follower)) {
		plan_clear(follower, false);
		lose(follower, "the belt could not be cleared");
		return;
	}
	event_del(follower->events[ON_OFFLINE]);
	event_del(follower->events[ON_TIMEOUT]);
	log_line(LOG_TROUBLE, "%s", text);
	*follower->reason = '\0';
	set_state(follower, true, text);
}

static void on_removed(void *owner, const char *key, size_t len)
{
	struct follower *follower = owner;
	char name[HASHBELT_KEY_MAX];
	size_t name_len;
	int err;

	if (follower->is_over)
		return;
	follower->metrics.told++;
	name_len = keys_name(&follower->options->keys, key, len, name);
	log_line(LOG_REQUESTS, "key %.*s", len < 256 ? (int)len : 256, key);
	if (!name_len) {
		follower->metrics.unfit++;
		return;
	}
	err = follow_belt_remove(follower->belt, name, name_len);
	if (err)
		lose_belt(follower, err);
}

static void on_cleared(void *owner)
{
	struct follower *follower = owner;

	if (follower->is_over)
		return;
	log_line(LOG_REQUESTS, "all keys");
	if (clear(follower))
		lose(follower, "the belt could not be cleared");
}

static void on_told(void *owner)
{
	struct follower *follower = owner;
	int err;

	if (follower->is_over)
		return;
	err = follow_belt_flush(follower->belt);
	if (err)
		lose_belt(follower, err);
}

static void on_lost(void *owner, const char *reason)
{
	lose(owner, reason);
}

static const struct engine_calls calls = {
	.following = on_following,
	.removed = on_removed,
	.cleared = on_cleared,
	.told = on_told,
	.lost = on_lost,
};

/* Events */

static unsigned int question_ms(const struct follower *follower)
{
	return follower->options->detect_ms / QUESTIONS;
}

/*
 * Milliseconds since the last moment of which it is known that each change before it was told, by
 * what both ends have answered. It is looked at once in question_ms(). A process
 * that was stopped, or a machine that slept, finds that much time has passed, in whatever order
 * events come then.
 */
static uint64_t proof_age(const struct follower *follower)
{
	return (clock_us() - follower->ops->proof(follower->engine)) / 1000;
}

static void on_question(evutil_socket_t fd, short what, void *arg)
{
	struct follower *follower = arg;
	unsigned int limit = follower->options->detect_ms - question_ms(follower);
	char text[64];
	uint64_t age;

	(void)fd;
	(void)what;
	if (!follower->is_following)
		return;
	age = proof_age(follower);
	if (age > limit) {
		snprintf(text, sizeof(text), "no answer for %llu ms", (unsigned long long)age);
		lose(follower, text);
		return;
	}
	follower->ops->ping(follower->engine);
}

static void on_offline(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	clear_offline(arg);
}

/* From three to five quarters of @ms, so that machines do not come back at once. */
static unsigned int jitter(unsigned int ms)
{
	uint16_t random;

	evutil_secure_rng_get_bytes(&random, sizeof(random));
	return ms * 3 / 4 + (uint64_t)ms * random / UINT16_MAX / 2;
}

static void on_over(evutil_socket_t fd, short what, void *arg)
{
	struct follower *follower = arg;

	(void)fd;
	(void)what;
	follower->ops->stop(follower->engine);
	add_timer(follower, ON_PAUSE, jitter(follower->pause_ms));
	follower->pause_ms = follower->pause_ms > PAUSE_MAX_MS / 2 ? PAUSE_MAX_MS :
			     follower->pause_ms * 2;
}

static void on_pause(evutil_socket_t fd, short what, void *arg)
{
	struct follower *follower = arg;

	(void)fd;
	(void)what;
	log_line(LOG_CONNECTIONS, "connects");
	follower->is_over = false;
	add_timer(follower, ON_TIMEOUT, ATTEMPT_MS);
	follower->ops->start(follower->engine);
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	lose(arg, "the engine does not answer");
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct follower *follower = arg;
	int err = follow_belt_check(follower->belt);

	(void)fd;
	(void)what;
	if (err)
		lose_belt(follower, err);
	note_belt(follower);
	write_metrics(follower);
	sd_notify(0, "WATCHDOG=1");
}

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct follower *follower = arg;

	(void)fd;
	(void)what;
	event_base_loopbreak(follower->base);
}

static bool make_events(struct follower *follower)
{
	static const struct {
		evutil_socket_t signal;
		short what;
		event_callback_fn call;
	} kinds[EVENTS] = {
		[ON_QUESTION] = { -1, EV_PERSIST, on_question },
		[ON_OFFLINE] = { -1, 0, on_offline },
		[ON_OVER] = { -1, 0, on_over },
		[ON_PAUSE] = { -1, 0, on_pause },
		[ON_TIMEOUT] = { -1, 0, on_timeout },
		[ON_SECOND] = { -1, EV_PERSIST, on_second },
		[ON_SIGTERM] = { SIGTERM, EV_SIGNAL | EV_PERSIST, on_signal },
		[ON_SIGINT] = { SIGINT, EV_SIGNAL | EV_PERSIST, on_signal },
	};
	struct timeval no_time = { 0 };
	int i;

	for (i = 0; i < EVENTS; i++) {
		follower->events[i] = event_new(follower->base, kinds[i].signal, kinds[i].what,
						kinds[i].call, follower);
		/* To add it once makes room for it in the heap of timers. */
		if (!follower->events[i] || event_add(follower->events[i], kinds[i].what &
						      EV_SIGNAL ? NULL : &no_time))
			return false;
	}
	for (i = 0; i < ON_SIGTERM; i++)
		event_del(follower->events[i]);
	return true;
}

/* Follows until a signal comes, or nothing can be done. */
static void follow(struct follower *follower)
{
	set_state(follower, false, "connects");
	clear_offline(follower);
	note_belt(follower);
	add_timer(follower, ON_QUESTION, question_ms(follower));
	add_timer(follower, ON_SECOND, 1000);
	event_active(follower->events[ON_PAUSE], EV_TIMEOUT, 0);
	if (!follower->failed && event_base_dispatch(follower->base) < 0)
		give_up(follower, "the loop of events has failed");
	sd_notify(0, "STOPPING=1");
	follower->ops->stop(follower->engine);
	/* Nothing is removed from now on. */
	if (clear(follower))
		follower->failed = true;
	set_state(follower, false, "ends");
}

static void close_follower(struct follower *follower)
{
	int i;

	if (follower->engine)
		follower->ops->close(follower->engine);
	for (i = 0; i < EVENTS; i++)
		if (follower->events[i])
			event_free(follower->events[i]);
	if (follower->base)
		event_base_free(follower->base);
	follow_belt_close(follower->belt);
}

/**
 * follower_run() - keep a belt free of old values, until SIGTERM or SIGINT
 * @options:	the command line
 * @ops:	the kind of engine
 *
 * Return: 0; or a negative errno after a message.
 */
int follower_run(const struct options *options, const struct engine_ops *ops)
{
	struct follower follower = {
		.options = options, .ops = ops, .pause_ms = PAUSE_MIN_MS, .had_belt = true,
		.metrics = { .belt = options->belt, .engine = ops->name },
	};
	struct engine_setup setup = { .options = options, .calls = &calls, .owner = &follower };
	int err = follow_belt_open(options->belt, &follower.belt);

	if (err)
		return err;
	follower.base = event_base_new();
	if (follower.base && make_events(&follower)) {
		setup.base = follower.base;
		follower.engine = ops->open(&setup);
	} else {
		log_line(LOG_TROUBLE, "out of memory or descriptors");
	}
	if (follower.engine)
		follow(&follower);
	err = follower.engine && !follower.failed ? 0 : -EIO;
	close_follower(&follower);
	return err;
}
