/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines for the log: standard error, which systemd reads. */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>

enum log_level {
	LOG_TROUBLE,		/* always */
	LOG_CONNECTIONS,
	LOG_REQUESTS,
	LOG_LEVELS
};

void log_begin(const char *program, unsigned int level);
void log_set_level(unsigned int level);
unsigned int log_level(void);
void log_line(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* COMMON_LOG_H */
