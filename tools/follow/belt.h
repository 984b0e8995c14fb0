/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The belt: the only way from hbfollow to hashbelt. Tests link another implementation of this
 * header, which needs no module.
 *
 * A function that returns 0 has left nothing in the belt that it was to remove. There may be no
 * belt: then it holds nothing, and the functions return 0; the next call finds a belt that has
 * been made since, and clears it.
 */
#ifndef HBFOLLOW_BELT_H
#define HBFOLLOW_BELT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct follow_belt;

/* Space for each text of follow_belt_reason(), bytes. */
#define BELT_REASON_SIZE	512

int follow_belt_open(const char *name, struct follow_belt **belt);
void follow_belt_close(struct follow_belt *belt);
int follow_belt_remove(struct follow_belt *belt, const char *key, size_t len);
int follow_belt_flush(struct follow_belt *belt);
int follow_belt_clear(struct follow_belt *belt);
int follow_belt_check(struct follow_belt *belt);
bool follow_belt_is_there(const struct follow_belt *belt);
uint64_t follow_belt_removed(const struct follow_belt *belt);
uint64_t follow_belt_cleared(const struct follow_belt *belt);
const char *follow_belt_reason(struct follow_belt *belt, int err, char *text);

/**
 * belt_is_refused() - whether an error stays until an administrator does something
 * @err:	the error, negative
 *
 * Return: whether the caller has no right to the belt.
 */
static inline bool belt_is_refused(int err)
{
	return err == -EPERM || err == -EACCES || err == -EINVAL;
}

#endif /* HBFOLLOW_BELT_H */
