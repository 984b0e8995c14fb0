// SPDX-License-Identifier: GPL-2.0-only
/* tls_test - encrypted connections, with OpenSSL's own client on the other end of a socket pair. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "message.h"
#include "options.h"
#include "tls.h"

#define BYTES	(3 * 1024 * 1024)
#define PARTS	700

static char directory[32] = "/tmp/tls_test.XXXXXX";
static char files[8][64];

enum { CA_CERT, CA_KEY, CERT, KEY, OTHER_CERT, OTHER_KEY, LOCKED_KEY, MISSING };

/* The two ends of a connection. */
static struct tls_context *context;
static struct tls *server;
static SSL *client;
static int ends[2];

static char sent[BYTES], received[BYTES];

/* Makes and writes a certificate and its key. Without an issuer it is signed by itself. */
static X509 *make_cert(const char *name, X509 *issuer, EVP_PKEY *issuer_key, EVP_PKEY **key,
		       const char *cert_path, const char *key_path)
{
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);
	X509V3_CTX about;
	X509_EXTENSION *extension;
	FILE *file;

	*key = EVP_EC_gen("P-256");
	X509_set_version(cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), issuer ? 2 : 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
				   0);
	X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject);
	X509_set_pubkey(cert, *key);
	X509V3_set_ctx(&about, issuer ?: cert, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &about, NID_basic_constraints,
					issuer ? "CA:FALSE" : "critical,CA:TRUE");
	X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
	if (!X509_sign(cert, issuer_key ?: *key, EVP_sha256()))
		bail_out("cannot sign a certificate");
	file = fopen(cert_path, "w");
	PEM_write_X509(file, cert);
	fclose(file);
	file = fopen(key_path, "w");
	PEM_write_PrivateKey(file, *key, NULL, NULL, 0, NULL, NULL);
	fclose(file);
	return cert;
}

static void make_files(void)
{
	static const char * const names[] = {
		"ca.pem", "ca.key", "cert.pem", "cert.key", "other.pem", "other.key", "locked.key",
		"missing",
	};
	EVP_PKEY *ca_key, *key, *other_key;
	X509 *ca, *cert, *other;
	FILE *file;
	int i;

	if (!mkdtemp(directory))
		bail_out("cannot make a directory: %s", strerror(errno));
	for (i = 0; i < 8; i++)
		snprintf(files[i], sizeof(files[i]), "%s/%s", directory, names[i]);
	ca = make_cert("ca", NULL, NULL, &ca_key, files[CA_CERT], files[CA_KEY]);
	cert = make_cert("cert", ca, ca_key, &key, files[CERT], files[KEY]);
	other = make_cert("other", NULL, NULL, &other_key, files[OTHER_CERT], files[OTHER_KEY]);
	file = fopen(files[LOCKED_KEY], "w");
	PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), (const unsigned char *)"word", 4, NULL,
			     NULL);
	fclose(file);
	X509_free(ca);
	X509_free(cert);
	X509_free(other);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
	EVP_PKEY_free(other_key);
}

static int open_context(int cert, int key, int ca, bool verify)
{
	struct options options = {
		.tls = true, .tls_cert = files[cert], .tls_key = files[key],
		.tls_ca = ca == MISSING ? NULL : files[ca], .tls_verify = verify,
	};
	int err;

	message_begin();
	err = tls_open(&options, &context);
	message_end();
	return err;
}

static void test_files(void)
{
	is_errno(open_context(CERT, KEY, CA_CERT, true), 0, "certificate, key and CA are read");
	tls_close(context);
	is_errno(open_context(MISSING, KEY, MISSING, false), EINVAL, "a missing file is an error");
	ok(message_is(files[MISSING]) && strstr(message, "No such file"), "the error names it");
	ok(!context, "there is no context then");
	is_errno(open_context(KEY, KEY, MISSING, false), EINVAL, "so is one without certificate");
	is_errno(open_context(CERT, OTHER_KEY, MISSING, false), EINVAL,
		 "the key of another certificate is refused");
	ok(message_is("key values mismatch"), "the error says that they do not match");
	is_errno(open_context(CERT, LOCKED_KEY, MISSING, false), EINVAL,
		 "a key with a passphrase is refused, without a question");
	is_errno(open_context(CERT, KEY, KEY, true), EINVAL, "a CA without certificate is refused");
	ok(message_is(files[KEY]), "the error names its file");
}

/* Connects both ends, before the handshake. @cert: the client's; MISSING for none. */
static void begin(int cert, int key, int newest)
{
	SSL_CTX *rules = SSL_CTX_new(TLS_client_method());

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends))
		bail_out("no sockets: %s", strerror(errno));
	SSL_CTX_load_verify_file(rules, files[CA_CERT]);
	SSL_CTX_set_verify(rules, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_min_proto_version(rules, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(rules, newest);
	if (cert != MISSING &&
	    (SSL_CTX_use_certificate_file(rules, files[cert], SSL_FILETYPE_PEM) != 1 ||
	     SSL_CTX_use_PrivateKey_file(rules, files[key], SSL_FILETYPE_PEM) != 1))
		bail_out("no certificate for the client");
	client = SSL_new(rules);
	SSL_set_security_level(client, 0);
	SSL_CTX_free(rules);
	SSL_set_fd(client, ends[1]);
	SSL_set_connect_state(client);
	server = tls_accept(context, ends[0]);
}

static void finish(void)
{
	tls_free(server);
	SSL_free(client);
	close(ends[0]);
	close(ends[1]);
	ERR_clear_error();
}

/* Runs the handshake. Return: the last result of the server, whose client sends nothing. */
static int handshake(void)
{
	char byte;
	int turn, err = -EAGAIN;

	for (turn = 0; turn < 10 && err == -EAGAIN; turn++) {
		SSL_do_handshake(client);
		err = tls_read(server, &byte, 1);
	}
	return err;
}

static void test_handshake(void)
{
	char text[8] = "";
	struct iovec part = { "hello", 5 };

	open_context(CERT, KEY, MISSING, false);
	begin(MISSING, MISSING, 0);
	is_errno(tls_read(server, text, 1), EAGAIN, "a silent client is waited for");
	is_int(tls_wants(server), POLLIN, "until it sends");
	is_errno(handshake(), EAGAIN, "a client without certificate connects");
	ok(SSL_is_init_finished(client), "the client trusts the server");
	is_int(SSL_write(client, "get a\r\n", 7), 7, "the client sends");
	is_int(tls_read(server, text, 4), 4, "the server reads a part");
	ok(tls_pending(server), "tls_pending() knows of the rest");
	is_int(tls_read(server, text + 4, 4), 3, "the server reads the rest");
	ok(!memcmp(text, "get a\r\n", 7), "the bytes are those that were sent");
	ok(!tls_pending(server), "nothing is pending then");
	is_errno(tls_read(server, text, 1), EAGAIN, "and a read has to wait");
	is_int(tls_write(server, &part, 1), 5, "the server writes");
	is_int(SSL_read(client, text, 8), 5, "the client reads");
	SSL_shutdown(client);
	is_int(tls_read(server, text, 1), 0, "a client that ends the connection is its end");
	finish();
	begin(MISSING, MISSING, TLS1_2_VERSION);
	is_errno(handshake(), EAGAIN, "TLS 1.2 connects");
	shutdown(ends[1], SHUT_RDWR);
	is_int(tls_read(server, text, 1), 0, "a client that closes the socket is the end");
	finish();
	begin(MISSING, MISSING, TLS1_1_VERSION);
	is_errno(handshake(), EPROTO, "TLS 1.1 is refused");
	ok(tls_reason(server), "there is a reason");
	is_errno(tls_write(server, &part, 1), EPROTO, "nothing is written then");
	finish();
	begin(MISSING, MISSING, 0);
	if (write(ends[1], "get a\r\n", 7) != 7)
		bail_out("cannot write: %s", strerror(errno));
	is_errno(tls_read(server, text, 1), EPROTO, "a client that does not encrypt is refused");
	finish();
	tls_close(context);
}

static void test_clients(void)
{
	open_context(CERT, KEY, CA_CERT, true);
	begin(MISSING, MISSING, 0);
	is_errno(handshake(), EPROTO, "--tls-verify refuses a client without certificate");
	ok(tls_reason(server) && strstr(tls_reason(server), "did not return a certificate"),
	   "the reason says so");
	finish();
	begin(OTHER_CERT, OTHER_KEY, 0);
	is_errno(handshake(), EPROTO, "a certificate that the CA has not signed is refused");
	finish();
	begin(CERT, KEY, 0);
	is_errno(handshake(), EAGAIN, "a certificate of the CA is accepted");
	finish();
	tls_close(context);
	open_context(CERT, KEY, CA_CERT, false);
	begin(MISSING, MISSING, 0);
	is_errno(handshake(), EAGAIN, "without --tls-verify, a client needs no certificate");
	finish();
	begin(OTHER_CERT, OTHER_KEY, 0);
	is_errno(handshake(), EPROTO, "without --tls-verify, a wrong certificate is refused");
	finish();
	tls_close(context);
}

/* Sizes of the parts of a reply: none, texts, and values longer than a record. */
static size_t part_size(unsigned int i)
{
	static const size_t sizes[] = { 20, 0, 2, 40000, 7, 16384, 1, 16383, 3 };

	return sizes[i % (sizeof(sizes) / sizeof(*sizes))];
}

/* Writes all parts to a client that reads a little at a time. Return: how often it had to wait. */
static unsigned int write_all(struct iovec *part, int count, size_t *got)
{
	unsigned int waits = 0;
	ssize_t done;
	int some;

	while (count) {
		done = tls_write(server, part, count);
		if (done == -EAGAIN && tls_wants(server) == POLLOUT) {
			waits++;
			some = SSL_read(client, received + *got, 5000);
			*got += some > 0 ? some : 0;
			continue;
		}
		if (done < 0)
			break;
		for (; count && (size_t)done >= part->iov_len; part++, count--)
			done -= part->iov_len;
		if (count) {
			part->iov_base = (char *)part->iov_base + done;
			part->iov_len -= done;
		}
	}
	return waits;
}

static void test_parts(void)
{
	struct iovec parts[PARTS];
	size_t sum = 0, got = 0, i;
	int count, some;

	for (i = 0; i < sizeof(sent); i++)
		sent[i] = i * 31 + i / 253;
	for (count = 0; count < PARTS && sum + part_size(count) <= sizeof(sent); count++) {
		parts[count] = (struct iovec){ sent + sum, part_size(count) };
		sum += part_size(count);
	}
	open_context(CERT, KEY, MISSING, false);
	begin(MISSING, MISSING, 0);
	handshake();
	ok(write_all(parts, count, &got) > 10, "a slow client makes the server wait");
	while ((some = SSL_read(client, received + got, sizeof(received) - got)) > 0)
		got += some;
	is_int(got, sum, "a reply of %d parts arrives", count);
	ok(!memcmp(sent, received, sum), "its bytes are those that were written");
	ok(!tls_write(server, parts, 0), "no part is no byte");
	tls_free(server);
	server = NULL;
	is_int(SSL_read(client, received, 1), 0, "tls_free() ends the connection");
	is_int(SSL_get_error(client, 0), SSL_ERROR_ZERO_RETURN, "in the way of TLS");
	finish();
	tls_close(context);
}

static void test_gone(void)
{
	struct iovec part = { sent, 100000 };
	ssize_t err;
	int turn;

	open_context(CERT, KEY, MISSING, false);
	begin(MISSING, MISSING, 0);
	handshake();
	shutdown(ends[1], SHUT_RDWR);
	for (err = 0, turn = 0; err >= 0 && turn < 10; turn++)
		err = tls_write(server, &part, 1);
	is_errno(err, EPIPE, "a write to a client that has gone is an error");
	is_errno(tls_read(server, received, 1), EPROTO, "after an error nothing is read");
	finish();
	tls_close(context);
}

int main(void)
{
	int i;

	signal(SIGPIPE, SIG_IGN);
	make_files();
	test_files();
	test_handshake();
	test_clients();
	test_parts();
	test_gone();
	for (i = 0; i < 8; i++)
		unlink(files[i]);
	rmdir(directory);
	return done_testing();
}
