/* SPDX-License-Identifier: GPL-2.0-only */
/* Clients that speak memcached's binary protocol, which are refused. */
#ifndef HBSERVE_BINARY_H
#define HBSERVE_BINARY_H

#include "protocol.h"

/* The first byte of a request. */
#define BINARY_REQUEST	0x80

enum done binary_run(struct work *work, struct client *client);

#endif /* HBSERVE_BINARY_H */
