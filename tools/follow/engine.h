/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An engine: tells which keys have changed. It makes one attempt at a time to follow: start()
 * begins it, and stop() ends it, after lost() at the latest.
 */
#ifndef HBFOLLOW_ENGINE_H
#define HBFOLLOW_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct event_base;
struct options;

/* Space for the reason of a loss, bytes. */
#define ENGINE_REASON_SIZE	256

/**
 * struct engine_calls - the calls of an engine into its owner. After lost() it makes no other until
 * start()
 * @following:	from a moment before this call on, each change is told, and both ends have answered
 *		since that moment
 * @removed:	a key has changed
 * @cleared:	all keys may have changed
 * @told:	all that has come together was told
 * @lost:	the attempt has failed. The owner calls stop(), but not before it has returned
 */
struct engine_calls {
	void (*following)(void *owner);
	void (*removed)(void *owner, const char *key, size_t len);
	void (*cleared)(void *owner);
	void (*told)(void *owner);
	void (*lost)(void *owner, const char *reason);
};

/**
 * struct engine_setup - what an engine is made of
 * @base:	the events of the loop
 * @options:	the command line
 * @calls:	the calls into the owner
 * @owner:	their first argument
 */
struct engine_setup {
	struct event_base *base;
	const struct options *options;
	const struct engine_calls *calls;
	void *owner;
};

/**
 * struct engine_ops - a kind of engine
 * @name:	its name
 * @open:	makes one. Return: NULL after a message on stderr
 * @start:	begins an attempt to follow; may call lost()
 * @ping:	asks each connection for an answer, unless one is awaited
 * @proof:	the time, by clock_us(), of which answers prove that each change before it was told:
 *		of the connection for which that is longest ago
 * @delay:	microseconds until the last answer on the connection that tells changes: it comes
 *		behind the changes
 * @is_replica:	whether the server that is followed, or was last, copies another one
 * @stop:	ends the attempt; also without one
 * @close:	frees it
 */
struct engine_ops {
	const char *name;
	struct engine *(*open)(const struct engine_setup *setup);
	void (*start)(struct engine *engine);
	void (*ping)(struct engine *engine);
	uint64_t (*proof)(const struct engine *engine);
	uint64_t (*delay)(const struct engine *engine);
	bool (*is_replica)(const struct engine *engine);
	void (*stop)(struct engine *engine);
	void (*close)(struct engine *engine);
};

#endif /* HBFOLLOW_ENGINE_H */
