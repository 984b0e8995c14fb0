/* SPDX-License-Identifier: GPL-2.0-only */
/* Output that the caller must learn, and the time that an entry has left. */
#ifndef HBCTL_OUTPUT_H
#define HBCTL_OUTPUT_H

#include <signal.h>

#include <hashbelt/client.h>

/* Bytes of the longest number and what stands beside it. */
#define NUMBER_SIZE	24

struct request;

void output_is_short(const struct request *request, size_t size);
void number_print(__u64 number);
void output_begin(struct sigaction *old);
int output_end(const struct sigaction *old);
const char *ttl_text(char *text, __u64 ttl_ms);

#endif /* HBCTL_OUTPUT_H */
