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
 * refused(GOT, WANT, DESCRIPTION): checks that a call failed with the errno WANT and changed
 * nothing.
 */
#define refused(got, want, description)	refused_at(TAP_HERE, #got, got, want, description)

/*
 * Sets each bit of a field of @size bytes that is not in @allowed, one at a time, and
 * expects EINVAL for each.
 */
static inline void test_bits(struct tap_place place, unsigned long request, void *argument,
			     void *field, size_t size, __u64 allowed, const char *description)
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
	       "%s: EINVAL for each bit", description);
}

#define BITS(request, argument, field, allowed, ...) \
	test_bits(TAP_HERE, request, &(argument), &(argument).field, sizeof((argument).field), \
		  allowed, DESCRIBE(__VA_ARGS__))

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
static inline void test_key_len(const char *name, unsigned long request, void *argument,
				__u64 *key, __u32 *key_len)
{
	static char text[HASHBELT_KEY_MAX + 1];
	__u64 old_key = *key;
	__u32 old_len = *key_len;

	memset(text, 'a', sizeof(text));
	*key_len = 0;
	refused(call(belt, request, argument), EINVAL, DESCRIBE("%s with a key of 0 bytes", name));
	*key = address(text);
	*key_len = HASHBELT_KEY_MAX + 1;
	refused(call(belt, request, argument), E2BIG,
		DESCRIBE("%s with a key of 1025 bytes", name));
	*key_len = ~0u;
	refused(call(belt, request, argument), E2BIG,
		DESCRIBE("%s with a key of 4 GiB less one byte", name));
	*key = old_key;
	*key_len = old_len;
}

#endif /* _REFUSAL_H */
