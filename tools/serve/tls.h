/* SPDX-License-Identifier: GPL-2.0-only */
/* Encrypted connections. */
#ifndef HBSERVE_TLS_H
#define HBSERVE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct options;
struct tls;
struct tls_context;

int tls_open(const struct options *options, struct tls_context **context);
void tls_close(struct tls_context *context);
struct tls *tls_accept(struct tls_context *context, int fd);
ssize_t tls_read(struct tls *tls, void *buffer, size_t size);
bool tls_pending(const struct tls *tls);
ssize_t tls_write(struct tls *tls, const struct iovec *parts, int count);
short tls_wants(const struct tls *tls);
const char *tls_reason(const struct tls *tls);
void tls_free(struct tls *tls);

#endif /* HBSERVE_TLS_H */
