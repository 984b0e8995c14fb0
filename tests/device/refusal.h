/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * refusal.h - helpers for tests of calls that the device must refuse: each call fails with
 * the expected errno and changes nothing.
 */
#ifndef _REFUSAL_H
#define _REFUSAL_H

#include "device.h"

static int belt;
static struct snapshot before;

/* True if nothing has changed; each test defines it. */
static bool undisturbed(void);

/* A formatted description; valid until the next one is made. */
static char line[128];

#define DESCRIBE(...)	(snprintf(line, sizeof(line), __VA_ARGS__), line)

static inline bool refused_at(struct tap_place place, const char *expression, int got, int want,
			      const char *description)
{
	bool same = undisturbed();

	if (tap_ok(place, "the error, and everything as it was", got == -want && same, "%s: %s",
		   description, error_name(want)))
		return true;
	note("expected %s from %s, found %s (%d)%s", error_name(want), expression,
	     error_name(got), got, same ? "" : ", and what was there before has changed");
	return false;
}

/*
 * refused(GOT, WANT, DESCRIPTION): checks that a call failed with errno WANT and changed nothing.
 */
#define refused(got, want, description)	refused_at(TAP_HERE, #got, got, want, description)

/**
 * struct request - an ioctl
 * @name:	its name
 * @number:	HASHBELT_IOC_*
 * @needs:	HASHBELT_MAY_* bits that a descriptor needs for it, or NO_BELT
 */
struct request {
	const char *name;
	unsigned long number;
	__u32 needs;
};

#define READ	HASHBELT_MAY_READ
#define WRITE	HASHBELT_MAY_WRITE
#define OWN	HASHBELT_MAY_OWN
#define CONSUME	HASHBELT_MAY_CONSUME
#define ANY	0
#define NO_BELT	0x80000000u
#define SIZE(...)
#define FIELD(...)
#define VALUE(...)
#define IOCTL(name, number, rights)	{ #name, HASHBELT_IOC_##name, rights },

/* All ioctls of the device. */
static const struct request requests[] = {
#include "layout.h"
};

static inline const char *request_name(unsigned long number)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(requests); i++)
		if (requests[i].number == number)
			return requests[i].name;
	return NULL;
}

/*
 * Sets each bit of a field of @size bytes that is not in @allowed, one at a time, and
 * expects EINVAL for each.
 */
static inline void test_bits(struct tap_place place, unsigned long request, void *argument,
			     void *field, size_t size, __u64 allowed, const char *name)
{
	unsigned char *bytes = field;
	const bool little = *(const unsigned char *)&(const __u16){ 1 };
	unsigned int bit, wrong = 0;
	int err;

	for (bit = 0; bit < 8 * size; bit++) {
		size_t at = little ? bit / 8 : size - 1 - bit / 8;

		if (bit < 64 && allowed & 1ULL << bit)
			continue;
		bytes[at] ^= 1 << bit % 8;
		err = call(belt, request, argument);
		if (err != -EINVAL && !wrong++)
			note("expected EINVAL for bit %u, found %s", bit, error_name(err));
		bytes[at] ^= 1 << bit % 8;
	}
	tap_ok(place, "EINVAL for each bit, and everything as it was", !wrong && undisturbed(),
	       "%s with each bit of @%s that it does not know: EINVAL", request_name(request),
	       name);
}

#define BITS(request, argument, field, allowed) \
	test_bits(TAP_HERE, request, &(argument), &(argument).field, sizeof((argument).field), \
		  allowed, #field)

/* Makes a call whose argument has a field changed, or some, and takes the changes back. */
#define REFUSE(error, request, argument, ...) \
do { \
	typeof(argument) before_change = argument; \
\
	(argument).__VA_ARGS__; \
	refused(call(belt, request, &(argument)), error, \
		DESCRIBE("%s with " #__VA_ARGS__, request_name(request))); \
	argument = before_change; \
} while (0)

/* REFUSE() for each of the first @count values of a field. */
#define REFUSE_EACH(error, request, argument, field, values, count) \
do { \
	typeof((argument).field) before_change = (argument).field; \
\
	for (unsigned int nth = 0; nth < (count); nth++) { \
		(argument).field = (values)[nth]; \
		refused(call(belt, request, &(argument)), error, \
			DESCRIBE("%s with " #field " = %#llx", request_name(request), \
				 (__u64)(argument).field)); \
	} \
	(argument).field = before_change; \
} while (0)

/* Times that are too long, of which a call may give the last two a meaning. */
static const __u64 long_times[] = {
	HASHBELT_TTL_MAX_MS + 1, HASHBELT_TTL_MAX_MS * 2, 1ULL << 63, HASHBELT_TTL_KEEP - 1,
	HASHBELT_TTL_KEEP, HASHBELT_TTL_NEVER,
};

#define LONG_TIMES	ARRAY_SIZE(long_times)

static inline void test_pointer(const struct request *request)
{
	size_t size = _IOC_SIZE(request->number);
	/* The last byte of the argument is not mapped. */
	void *cut = (char *)before_hole(size) + 1;

	memset(cut, 0, size - 1);
	refused(call(belt, request->number, NULL), EFAULT,
		DESCRIBE("%s with a NULL argument", request->name));
	refused(call(belt, request->number, unmapped()), EFAULT,
		DESCRIBE("%s with an unmapped argument", request->name));
	refused(call(belt, request->number, cut), EFAULT,
		DESCRIBE("%s with an argument cut off by an unmapped page", request->name));
}

/* @argument is that of @request; @key and @key_len are fields of @argument. */
static inline void test_key_len(unsigned long request, void *argument, __u64 *key, __u32 *key_len)
{
	static const struct { __u32 len; int err; } wrong[] = {
		{ 0, EINVAL }, { HASHBELT_KEY_MAX + 1, E2BIG }, { ~0u, E2BIG },
	};
	static char text[HASHBELT_KEY_MAX + 1];
	__u64 old_key = *key;
	__u32 old_len = *key_len;
	unsigned int i;

	*key = address(text);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		*key_len = wrong[i].len;
		refused(call(belt, request, argument), wrong[i].err,
			DESCRIBE("%s with a key of %u bytes", request_name(request), *key_len));
	}
	*key = old_key;
	*key_len = old_len;
}

#endif /* _REFUSAL_H */
