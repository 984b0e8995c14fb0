// SPDX-License-Identifier: GPL-2.0-only
/* The client's side of TLS: the server has to prove the name by which it was called. */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "tls.h"

/* Prints why a file cannot be used. Return: false. */
static bool fail(const char *what, const char *path)
{
	unsigned long code = ERR_peek_error();
	const char *reason = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) :
			     ERR_reason_error_string(code);

	fprintf(stderr, "hbfollow: cannot use %s as %s: %s\n", path, what,
		reason ? reason : "no PEM");
	ERR_clear_error();
	return false;
}

/* A key with a passphrase cannot be used: there is no terminal to ask on. */
static int no_passphrase(char *buffer, int size, int writing, void *data)
{
	(void)buffer;
	(void)size;
	(void)writing;
	(void)data;
	return -1;
}

static bool load_files(SSL_CTX *context, const struct options *options)
{
	if (options->tls_ca ? SSL_CTX_load_verify_file(context, options->tls_ca) != 1 :
			      SSL_CTX_set_default_verify_paths(context) != 1)
		return fail("certificates that sign",
			    options->tls_ca ? options->tls_ca : "those of the system");
	if (!options->tls_cert)
		return true;
	if (SSL_CTX_use_certificate_chain_file(context, options->tls_cert) != 1)
		return fail("the certificate", options->tls_cert);
	if (SSL_CTX_use_PrivateKey_file(context, options->tls_key, SSL_FILETYPE_PEM) != 1)
		return fail("the key of the certificate", options->tls_key);
	return true;
}

/**
 * tls_open() - read the certificates
 * @options:	the names of the files
 *
 * Prints an error on stderr.
 *
 * Return: what all connections share, to be freed by SSL_CTX_free(); NULL after an error.
 */
SSL_CTX *tls_open(const struct options *options)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	if (!context) {
		fputs("hbfollow: no memory for TLS\n", stderr);
		return NULL;
	}
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_default_passwd_cb(context, no_passphrase);
	if (load_files(context, options))
		return context;
	SSL_CTX_free(context);
	return NULL;
}

/**
 * tls_connection() - prepare an encrypted connection
 * @context:	from tls_open()
 * @host:	the name or address of the server, for which its certificate has to be
 *
 * Return: the connection, to be freed by SSL_free(); NULL if there is no memory.
 */
SSL *tls_connection(SSL_CTX *context, const char *host)
{
	unsigned char address[sizeof(struct in6_addr)];
	SSL *ssl = SSL_new(context);
	bool good;

	if (!ssl)
		return NULL;
	if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1)
		good = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	else
		good = X509_VERIFY_PARAM_set1_host(SSL_get0_param(ssl), host, 0) == 1 &&
		       SSL_set_tlsext_host_name(ssl, host) == 1;
	if (good)
		return ssl;
	ERR_clear_error();
	SSL_free(ssl);
	return NULL;
}
