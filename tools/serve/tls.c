// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encrypted connections, by OpenSSL. The calls are those of read(2) and writev(2) on a nonblocking
 * socket.
 *
 * The handshake is part of the first reads. Writing a reply of many parts makes records as large as
 * they can be, not one for each part.
 */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "tls.h"

/* The most bytes that a record holds. */
#define RECORD_MAX	SSL3_RT_MAX_PLAIN_LENGTH

/**
 * struct tls_context - what all connections share
 * @ssl:	certificate, key and rules
 */
struct tls_context {
	SSL_CTX *ssl;
};

/**
 * struct tls - an encrypted connection
 * @ssl:	its state
 * @wants:	the event to wait for after -EAGAIN: POLLIN or POLLOUT
 * @failed:	an error has ended it
 * @reason:	of the error, in English; NULL without one
 */
struct tls {
	SSL *ssl;
	short wants;
	bool failed;
	const char *reason;
};

/* Prints why a file cannot be used. Return: -EINVAL. */
static int fail(const char *what, const char *path)
{
	unsigned long code = ERR_peek_error();
	const char *reason = ERR_reason_error_string(code);

	if (ERR_SYSTEM_ERROR(code))
		reason = strerror(ERR_GET_REASON(code));
	fprintf(stderr, "hbserve: cannot use %s as %s: %s\n", path, what, reason ?: "no PEM");
	ERR_clear_error();
	return -EINVAL;
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

static int load_files(SSL_CTX *ssl, const struct options *options)
{
	struct stack_st_X509_NAME *names;

	if (SSL_CTX_use_certificate_chain_file(ssl, options->tls_cert) != 1)
		return fail("the certificate", options->tls_cert);
	if (SSL_CTX_use_PrivateKey_file(ssl, options->tls_key, SSL_FILETYPE_PEM) != 1)
		return fail("the key of the certificate", options->tls_key);
	if (!options->tls_ca)
		return 0;
	names = SSL_load_client_CA_file(options->tls_ca);
	if (!names || SSL_CTX_load_verify_file(ssl, options->tls_ca) != 1) {
		sk_X509_NAME_pop_free(names, X509_NAME_free);
		return fail("certificates that sign", options->tls_ca);
	}
	SSL_CTX_set_client_CA_list(ssl, names);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER |
			   (options->tls_verify ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
	return 0;
}

/*
 * A client that closes its socket without TLS's own end is no error: requests have an end of their
 * own, so an attacker that cuts the stream gains nothing.
 */
static void set_rules(SSL_CTX *ssl)
{
	SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
	SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
			    SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* Buffers of an idle connection are given back; a repeated write may stand elsewhere. */
	SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
			 SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(ssl, 1);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_session_id_context(ssl, (const unsigned char *)"hbserve", 7);
	SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
}

/**
 * tls_open() - read certificate and key
 * @options:	the names of the files, and whether clients need certificates
 * @context:	for tls_accept(), from any thread; to be freed by tls_close()
 *
 * Return: 0, or a negative errno after a message on stderr.
 */
int tls_open(const struct options *options, struct tls_context **context)
{
	int err;

	*context = calloc(1, sizeof(**context));
	if (*context)
		(*context)->ssl = SSL_CTX_new(TLS_server_method());
	if (!*context || !(*context)->ssl) {
		fprintf(stderr, "hbserve: no memory for TLS\n");
		err = -ENOMEM;
	} else {
		set_rules((*context)->ssl);
		err = load_files((*context)->ssl, options);
	}
	if (err) {
		tls_close(*context);
		*context = NULL;
	}
	return err;
}

/**
 * tls_close() - free what tls_open() made
 * @context:	the context; may be NULL. Its connections stay valid
 */
void tls_close(struct tls_context *context)
{
	if (!context)
		return;
	SSL_CTX_free(context->ssl);
	free(context);
}

/**
 * tls_accept() - begin an encrypted connection
 * @context:	the context
 * @fd:		the socket, nonblocking; the caller closes it after tls_free()
 *
 * Return: the connection; NULL if there is no memory.
 */
struct tls *tls_accept(struct tls_context *context, int fd)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (!tls)
		return NULL;
	tls->wants = POLLIN;
	tls->ssl = SSL_new(context->ssl);
	if (!tls->ssl || SSL_set_fd(tls->ssl, fd) != 1) {
		ERR_clear_error();
		tls_free(tls);
		return NULL;
	}
	SSL_set_accept_state(tls->ssl);
	return tls;
}

/* Return: 0 for the end, or a negative errno, for a call of OpenSSL that returned @result. */
static int outcome(struct tls *tls, int result, int error)
{
	switch (SSL_get_error(tls->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		tls->wants = POLLIN;
		return -EAGAIN;
	case SSL_ERROR_WANT_WRITE:
		tls->wants = POLLOUT;
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		tls->failed = true;
		return error ? -error : -ECONNRESET;
	default:
		tls->failed = true;
		tls->reason = ERR_reason_error_string(ERR_peek_last_error());
		return -EPROTO;
	}
}

/**
 * tls_read() - read as read(2)
 * @tls:	the connection
 * @buffer:	takes the bytes
 * @size:	how many it has room for, at least 1
 *
 * If @buffer is full there may be more, of which poll(2) knows nothing: tls_pending() does.
 *
 * Return: the number of bytes, 0 at the end, or a negative errno: EAGAIN: wait for tls_wants();
 * EPROTO: see tls_reason().
 */
ssize_t tls_read(struct tls *tls, void *buffer, size_t size)
{
	size_t got = 0, some;
	int result;

	if (tls->failed)
		return -EPROTO;
	do {
		ERR_clear_error();
		errno = 0;
		result = SSL_read_ex(tls->ssl, (char *)buffer + got, size - got, &some);
		if (result != 1)
			break;
		got += some;
	} while (got < size && SSL_has_pending(tls->ssl));
	return got ? (ssize_t)got : outcome(tls, result, errno);
}

/**
 * tls_pending() - whether bytes have been received and not been read
 * @tls:	the connection
 *
 * Return: whether tls_read() may return bytes, whatever poll(2) says of the socket.
 */
bool tls_pending(const struct tls *tls)
{
	return !tls->failed && SSL_has_pending(tls->ssl);
}

/* Gathers bytes for a record, from @skip on. Return: where they are. */
static const char *gather(const struct iovec *part, int count, size_t skip, char *room,
			  size_t *len)
{
	size_t some;

	*len = 0;
	if (part->iov_len - skip >= RECORD_MAX) {
		*len = RECORD_MAX;
		return (const char *)part->iov_base + skip;
	}
	for (; count && *len < RECORD_MAX; part++, count--, skip = 0) {
		some = part->iov_len - skip;
		some = some < RECORD_MAX - *len ? some : RECORD_MAX - *len;
		if (some)
			memcpy(room + *len, (const char *)part->iov_base + skip, some);
		*len += some;
	}
	return room;
}

/**
 * tls_write() - write as writev(2)
 * @tls:	the connection
 * @parts:	the bytes
 * @count:	the number of parts
 *
 * After fewer bytes than there are, or -EAGAIN, the next call has to begin with the bytes that are
 * left, at least as many as before; they may stand elsewhere.
 *
 * Return: the number of bytes, or a negative errno: EAGAIN: wait for tls_wants(); EPROTO: see
 * tls_reason().
 */
ssize_t tls_write(struct tls *tls, const struct iovec *parts, int count)
{
	static __thread char room[RECORD_MAX];
	size_t skip = 0, len, written, sum = 0;
	const char *bytes;
	int result;

	if (tls->failed)
		return -EPROTO;
	for (;;) {
		for (; count && skip >= parts->iov_len; parts++, count--)
			skip -= parts->iov_len;
		if (!count)
			return sum;
		bytes = gather(parts, count, skip, room, &len);
		if (!len)
			return sum;
		ERR_clear_error();
		errno = 0;
		result = SSL_write_ex(tls->ssl, bytes, len, &written);
		if (result != 1)
			break;
		skip += written;
		sum += written;
	}
	result = outcome(tls, result, errno);
	return sum ? (ssize_t)sum : result ?: -EPIPE;
}

/**
 * tls_wants() - what the connection waits for
 * @tls:	the connection, whose last call has returned -EAGAIN
 *
 * Return: POLLIN or POLLOUT.
 */
short tls_wants(const struct tls *tls)
{
	return tls->wants;
}

/**
 * tls_reason() - why a call has returned -EPROTO
 * @tls:	the connection
 *
 * Return: the reason in English; NULL if there is none.
 */
const char *tls_reason(const struct tls *tls)
{
	return tls->reason;
}

/**
 * tls_free() - end an encrypted connection
 * @tls:	the connection; may be NULL
 *
 * Tells the client that no more follows, unless an error has ended the connection or the client
 * reads too slowly. The socket stays open.
 */
void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	if (tls->ssl && !tls->failed && SSL_is_init_finished(tls->ssl))
		SSL_shutdown(tls->ssl);
	ERR_clear_error();
	SSL_free(tls->ssl);
	free(tls);
}
