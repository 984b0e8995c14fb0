// SPDX-License-Identifier: GPL-2.0-only
/* The model of the requests. */
#include "model_parts.h"

/* A key was put: its requests are completed, and its fill lease ends. */
void finish_put(struct model *model, unsigned int key)
{
	unsigned int id;

	end_fill(model, key);
	for (id = 0; id < IDS; id++) {
		struct thing *request = thing_at(model, REQUESTED, id);

		if (!request->there || !(request->keys & BIT(key)))
			continue;
		if (!find_live(model, REQUESTED, id))
			continue;
		count(model, HASHBELT_STAT_COMPLETED);
		add_completion(model, id, key, BIT(HASHBELT_BY_PUT), model->step, model->step);
	}
}

void model_request(struct model *model, unsigned int id, __u16 keys, __u64 ttl_ms, int err)
{
	struct thing *request = thing_at(model, REQUESTED, id);
	int want = 0;

	if (!is_ttl(ttl_ms))
		want = -EINVAL;
	else if (find_live(model, REQUESTED, id))
		want = -EEXIST;
	else if (!make_room(model, KEYS_MAX, err))
		want = -ENOSPC;
	if (!came_to(model, err, want) || want)
		return;
	count(model, HASHBELT_STAT_REQUESTS);
	request->there = true;
	request->keys = keys;
	set_deadline(request, deadline_of(model, ttl_ms));
}

void model_cancel(struct model *model, unsigned int id, int err)
{
	struct thing *request = find_live(model, REQUESTED, id);

	came_to(model, err, request ? 0 : -ENOENT);
	if (request)
		request->there = false;
}

void model_complete(struct model *model, unsigned int key, int err, unsigned int completed)
{
	unsigned int id, n = 0;

	came_to(model, err, 0);
	for (id = 0; id < IDS; id++) {
		struct thing *request = thing_at(model, REQUESTED, id);

		if (!request->there || !(request->keys & BIT(key)) ||
		    !find_live(model, REQUESTED, id))
			continue;
		add_completion(model, id, key, BIT(HASHBELT_BY_COMPLETE), model->step, model->step);
		count(model, HASHBELT_STAT_COMPLETED);
		n++;
	}
	same(model, "requests completed", completed, n);
}
