/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_CLIENT_H
#define _HASHBELT_CLIENT_H

#include "belt/events/link.h"

struct hb_client *hb_client_new(struct hashbelt_belt *belt);
void hb_client_close(struct hashbelt_belt *belt, struct hb_client *client);
int hb_take_completed(struct hb_client *client, struct hb_fifo *events, size_t room,
		      u64 most);
void hb_return_completed(struct hashbelt_belt *belt, struct hb_client *client,
			 struct hb_fifo *events);
void hb_settle_completed(struct hashbelt_belt *belt, struct hb_fifo *events);

#endif /* _HASHBELT_CLIENT_H */
