// SPDX-License-Identifier: GPL-2.0-only
/* The model of the fill leases. */
#include "model_parts.h"

#define FILL_LEASE_MS	10000	/* default lease */

/* Whether the fill lease of a key has this token, and has not ended. */
bool holds_fill(const struct model *model, unsigned int key, __u64 token)
{
	const struct thing *lease = &model->things[FILLING * KEYS_MAX + key];

	return is_live(model, lease) && lease->version == token && !lease->flags;
}

/* A key is no longer valid, so its fill lease ends. */
void end_fill(struct model *model, unsigned int key)
{
	thing_at(model, FILLING, key)->there = false;
}

/* Grants a fill lease, or not. Return: the state, or a negative errno. */
static int grant(struct model *model, const struct asked *asked,
		 const struct hashbelt_fill *sent, const struct hashbelt_fill *got,
		 __u64 lease_ms)
{
	struct thing *lease = thing_at(model, FILLING, asked->key);

	if (find_live(model, FILLING, asked->key))
		return lease->flags ?: HASHBELT_FILLING;
	if (!make_room(model, KEYS_MAX, got->state & HASHBELT_GRANTED ? 0 : -ENOSPC))
		return -ENOSPC;
	adopt_version(model, FILLING, asked->key, got->token);
	lease->there = true;
	lease->flags = 0;
	lease->bound = sent->how & HASHBELT_BOUND ? asked->fd : -1;
	set_deadline(lease, model->now + lease_ms * MS);
	count(model, HASHBELT_STAT_FILLS);
	return HASHBELT_GRANTED;
}

static void fill_miss(struct model *model, const struct asked *asked,
		      const struct hashbelt_fill *sent, const struct hashbelt_fill *got)
{
	struct thing *entry = thing_at(model, ENTRY, asked->key);
	bool stale = sent->how & HASHBELT_STALE && entry->there && entry->due > model->now;
	int state;

	state = grant(model, asked, sent, got, sent->lease_ms ?: FILL_LEASE_MS);
	if (state < 0) {
		came_to(model, asked->err, state);
		return;
	}
	/* The old value may have made room, or left when its grace time was shorter. */
	if (stale && may_be_handled(model, entry) && asked->err == -ENOENT)
		stale = false;
	if (!came_to(model, asked->err, stale ? 0 : -ENOENT))
		return;
	same(model, "state", got->state, state | (stale ? HASHBELT_STALE : 0));
	if (!stale)
		return;
	count(model, HASHBELT_STAT_STALE);
	same(model, "ttl_ms", got->item.ttl_ms, 0);
	same(model, "version", got->item.version, entry->version);
	same(model, "flags", got->item.flags, entry->flags);
	same_value(model, asked, entry);
}

void model_fill(struct model *model, const struct asked *asked,
		const struct hashbelt_fill *sent, const struct hashbelt_fill *got)
{
	struct thing *entry = thing_at(model, ENTRY, asked->key);
	__u64 left;
	int state = 0;

	get_entry(model, asked->err == -ENOENT || is_live(model, entry) ? asked :
	    &(struct asked){ .op = asked->op, .key = asked->key, .sent = asked->sent,
			     .err = -ENOENT });
	if (*model->complaint)
		return;
	if (!is_live(model, entry)) {
		fill_miss(model, asked, sent, got);
		return;
	}
	left = left_of(model, entry->deadline);
	if (sent->ahead_ms && left != NEVER && left < sent->ahead_ms)
		state = grant(model, asked, sent, got,
			      left > sent->lease_ms ? left : sent->lease_ms);
	/* A value is returned in any case. */
	same(model, "state", got->state, state < 0 ? 0 : state);
}

void model_change_fill(struct model *model, unsigned int key, const struct hashbelt_fill *sent,
		       int err)
{
	struct thing *lease;

	if (sent->lease_ms > HASHBELT_TTL_MAX_MS) {
		came_to(model, err, -EINVAL);
		return;
	}
	lease = find_live(model, FILLING, key);
	if (!came_to(model, err, holds_fill(model, key, sent->token) ? 0 : -ENOENT) || err)
		return;
	if (sent->how == HASHBELT_GIVE_UP) {
		end_fill(model, key);
		return;
	}
	set_deadline(lease, model->now + (sent->lease_ms ?: FILL_LEASE_MS) * MS);
	if (sent->how == HASHBELT_FAIL) {
		lease->flags = HASHBELT_FAILED;
		/* The belt keeps it, whatever becomes of the descriptor. */
		lease->bound = -1;
	}
}
