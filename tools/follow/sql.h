/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions for PostgreSQL that --print-sql prints. */
#ifndef HBFOLLOW_SQL_H
#define HBFOLLOW_SQL_H

extern const char sql_functions[];

#endif /* HBFOLLOW_SQL_H */
