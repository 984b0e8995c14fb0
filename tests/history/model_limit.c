// SPDX-License-Identifier: GPL-2.0-only
/* The model of the limits: whether there is room for one more entry, and what is evicted. */
#include "model_parts.h"

struct room {
	unsigned int least;	/* entries and events that count, at least */
	unsigned int most;	/* entries and events that count, at most */
	unsigned int entries;	/* entries that can be evicted */
	unsigned int held;	/* held events that count: they cannot be dropped */
};

static const __u32 keeping = BIT(HASHBELT_EXPIRED) | BIT(HASHBELT_REMOVED) |
			     BIT(HASHBELT_RELEASED);

static void add_places(struct room *room, const struct report_list *row)
{
	unsigned int i;

	for (i = 0; i < row->count; i++) {
		const struct report *report = &row->reports[i];
		bool keeps = report->reasons & keeping && !report->uncharged;

		room->most += keeps;
		room->least += keeps && !report->maybe && !(report->reasons & ~keeping);
	}
}

static struct room places(struct model *model)
{
	struct room room = {};
	enum thing_kind kind;
	unsigned int i;

	add_places(&room, &model->held);
	room.held = room.most;
	add_places(&room, &model->events);
	for (i = 0; i < ALL_THINGS; i++) {
		struct thing *thing = each(model, i, &kind);

		if (!thing->there)
			continue;
		if (!thing->reached || reinserts(model, kind)) {
			room.entries += kind == ENTRY;
			room.least++;
			room.most++;
		} else if (kind <= LOCKED && reports(model, HASHBELT_EXPIRED)) {
			room.least += !thing->doubt;
			room.most++;
		} else {
			/* It makes room, unless its event is queued already. */
			room.most += thing->doubt;
		}
	}
	return room;
}

/* Whether there is room for a new thing, after evictions. @err: the result of the call. */
bool make_room(struct model *model, unsigned int slot, int err)
{
	unsigned int most = model->is.max_entries, i;
	struct room room;

	if (!most)
		return true;
	/* A put takes the place of the fill lease of its key. */
	if (slot < KEYS_MAX && is_live(model, thing_at(model, FILLING, slot)))
		return true;
	room = places(model);
	if (room.most < most)
		return true;
	if (!(model->is.policy & HASHBELT_EVICT))
		return room.least < most && err != -ENOSPC;
	model->needs_scan = true;
	model->just_put = slot;
	model->evict_least = room.least < most ? 0 : room.least - most + 1;
	model->evict_most = room.most - most + 1;
	model->evict_drops = model->evict_most > room.entries;
	if (!model->evict_drops)
		return true;
	/* All entries are evicted, and then the oldest events are dropped. */
	if (model->evict_least > room.entries)
		model->evict_least = room.entries;
	model->lost_most += model->events.count + KEYS_MAX;
	for (i = 0; i < model->events.count; i++)
		model->events.reports[i].maybe = true;
	for (i = 0; i < ALL_THINGS; i++)
		model->things[i].doubt |= model->things[i].reached;
	return !(err == -ENOSPC && room.held);
}

/*
 * Entries that a scan does not show were evicted. Checks their number. The model does not know
 * where the hands stand, so it cannot say which entries leave.
 */
void see_evicted(struct model *model, const struct scan_result *scan_result)
{
	unsigned int key, gone = 0;

	for (key = 0; key < KEYS_MAX; key++) {
		struct thing *entry = thing_at(model, ENTRY, key);

		if (!is_live(model, entry) || key == model->just_put || scan_result->seen[key])
			continue;
		gone++;
		report(model, ENTRY, key, entry, HASHBELT_EVICTED);
		if (model->evict_drops && reports(model, HASHBELT_EVICTED))
			model->events.reports[model->events.count - 1].maybe = true;
		count(model, HASHBELT_STAT_EVICTED);
		entry->there = false;
	}
	within(model, "entries evicted", gone, model->evict_least, model->evict_most);
	model->evict_least = 0;
	model->evict_most = 0;
}
