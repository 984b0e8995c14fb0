/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps the belt free of values that are older than what the engine has told. */
#ifndef HBFOLLOW_FOLLOWER_H
#define HBFOLLOW_FOLLOWER_H

struct engine_ops;
struct options;

int follower_run(const struct options *options, const struct engine_ops *ops);

#endif /* HBFOLLOW_FOLLOWER_H */
