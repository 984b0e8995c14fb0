/* SPDX-License-Identifier: GPL-2.0-only */
/* The client's side of TLS. */
#ifndef HBFOLLOW_TLS_H
#define HBFOLLOW_TLS_H

#include <openssl/ssl.h>

struct options;

SSL_CTX *tls_open(const struct options *options);
SSL *tls_connection(SSL_CTX *context, const char *host);

#endif /* HBFOLLOW_TLS_H */
