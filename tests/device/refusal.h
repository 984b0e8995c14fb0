/* SPDX-License-Identifier: GPL-2.0 */
/*
 * refusal.h - for tests of what the device refuses: each call has its error, and leaves
 * everything as it was.
 */
#ifndef _REFUSAL_H
#define _REFUSAL_H

#include "device.h"

static int belt;
static struct sight before;

/* What that means is for the test to say. */
static bool undisturbed(void);

/* A promise that has to be put together; good until the next one. */
static char line[128];

#define PROMISE(...)	(snprintf(line, sizeof(line), __VA_ARGS__), line)

static inline bool refused_at(struct tap_place place, const char *expression, int got, int want,
			      const char *promise)
{
	bool same = undisturbed();

	if (tap_ok(place, "the error, and everything as it was", got == -want && same, "%s: %s",
		   promise, error_name(want)))
		return true;
	note("expected %s from %s, found %s (%d)%s", error_name(want), expression,
	     error_name(got), got, same ? "" : ", and what was there before has changed");
	return false;
}

/* refused(GOT, WANT, PROMISE): a call has failed with the errno WANT, and changed nothing. */
#define refused(got, want, promise)	refused_at(TAP_HERE, #got, got, want, promise)

/*
 * Sets each bit of a field of @size bytes that is not in @allowed, one after the
 * other, and expects an error each time.
 */
static inline void test_bits(struct tap_place place, unsigned long request, void *argument,
			     void *field, size_t size, __u64 allowed, const char *promise)
{
	unsigned char *bytes = field;
	unsigned int bit, wrong = 0;
	int err;

	for (bit = 0; bit < 8 * size; bit++) {
		if (bit < 64 && allowed & 1ULL << bit)
			continue;
		bytes[bit / 8] ^= 1 << bit % 8;
		err = call(belt, request, argument);
		if (err != -EINVAL && !wrong++)
			note("expected EINVAL for bit %u, found %s", bit, error_name(err));
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	tap_ok(place, "EINVAL for each bit, and everything as it was", !wrong && undisturbed(),
	       "%s: EINVAL for each bit", promise);
}

#define BITS(request, argument, field, allowed, ...) \
	test_bits(TAP_HERE, request, &(argument), &(argument).field, sizeof((argument).field), \
		  allowed, PROMISE(__VA_ARGS__))

/* A request that takes an argument. */
struct request {
	const char *name;
	unsigned long number;
};

static inline void test_pointer(const struct request *request)
{
	size_t size = _IOC_SIZE(request->number);
	/* All but the last byte is there. */
	void *cut = (char *)before_hole(size) + 1;

	memset(cut, 0, size - 1);
	refused(call(belt, request->number, NULL), EFAULT,
		PROMISE("%s with a NULL argument", request->name));
	refused(call(belt, request->number, unmapped()), EFAULT,
		PROMISE("%s with an unmapped argument", request->name));
	refused(call(belt, request->number, cut), EFAULT,
		PROMISE("%s with an argument cut off by an unmapped page", request->name));
}

/* @key_len and @key are those of @argument, which is that of @request. */
static inline void test_key_len(const char *name, unsigned long request, void *argument,
				__u64 *key, __u32 *key_len)
{
	static char text[HASHBELT_KEY_MAX + 1];
	__u64 old_key = *key;
	__u32 old_len = *key_len;

	memset(text, 'a', sizeof(text));
	*key_len = 0;
	refused(call(belt, request, argument), EINVAL, PROMISE("%s with a key of 0 bytes", name));
	*key = address(text);
	*key_len = HASHBELT_KEY_MAX + 1;
	refused(call(belt, request, argument), E2BIG,
		PROMISE("%s with a key of 1025 bytes", name));
	*key_len = ~0u;
	refused(call(belt, request, argument), E2BIG,
		PROMISE("%s with a key of 4 GiB less one byte", name));
	*key = old_key;
	*key_len = old_len;
}

#endif /* _REFUSAL_H */
