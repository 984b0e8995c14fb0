// SPDX-License-Identifier: GPL-2.0-only
/* listen_test - sockets are opened as the options ask for, and no others. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "array_size.h"
#include "listen.h"
#include "message.h"
#include "options.h"

#define MOST		8
#define PASSED		3	/* the first descriptor that systemd passes */
#define RIVALS		8

static char directory[32] = "/tmp/listen_test.XXXXXX";
static char path[64];
static struct listener list[MOST];

static int open_sockets(const struct options *options)
{
	int count;

	message_begin();
	count = listen_open(options, list, MOST);
	message_end();
	return count;
}

/* Connects to the unix socket. Return: 0 or a negative errno. */
static int connect_unix(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), err;

	strcpy(address.sun_path, path);
	err = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	close(fd);
	return err;
}

static unsigned int port_of(int fd)
{
	struct sockaddr_storage room;
	struct sockaddr_in *address = (struct sockaddr_in *)&room;
	socklen_t len = sizeof(room);

	return getsockname(fd, (struct sockaddr *)&room, &len) ? 0 : ntohs(address->sin_port);
}

/* A unix socket whose server has ended. */
static void leave_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		bail_out("cannot bind %s: %s", path, strerror(errno));
	close(fd);
}

static void test_unix(void)
{
	/* A group of this process; root is in others than its own. */
	struct options options = { .socket = path, .mode = 0640, .group = geteuid() ? NULL : "1" };
	gid_t group = geteuid() ? getegid() : 1;
	struct stat found;

	umask(0077);
	is_int(open_sockets(&options), 1, "a unix socket is opened");
	ok(!*message, "nothing is printed");
	if (stat(path, &found))
		bail_out("no socket: %s", strerror(errno));
	ok(S_ISSOCK(found.st_mode), "it is a socket");
	is_int(found.st_mode & 0777, 0640, "it has the mode, whatever the umask");
	is_int(found.st_gid, group, "it has the group");
	is_int(umask(0022), 0077, "the umask is as before");
	ok(list[0].local && !list[0].tls && !list[0].auth, "it is local and asks for no password");
	ok(fcntl(list[0].fd, F_GETFL) & O_NONBLOCK, "it does not block");
	ok(fcntl(list[0].fd, F_GETFD) & FD_CLOEXEC, "a program that is run does not inherit it");
	is_errno(connect_unix(), 0, "a client connects");
	listen_close(list, 1);
	is_errno(-access(path, F_OK) ? -errno : 0, ENOENT, "listen_close() removes it");
}

static void test_stale(void)
{
	struct options options = { .socket = path, .mode = 0600 };
	struct listener first;

	leave_socket();
	is_int(open_sockets(&options), 1, "the socket of a server that has ended is replaced");
	is_errno(connect_unix(), 0, "a client connects to the new one");
	first = list[0];
	is_errno(open_sockets(&options), EADDRINUSE, "the socket of a running server is refused");
	ok(message_is("belongs to a server that runs"), "the error says that a server runs");
	is_errno(connect_unix(), 0, "the running server keeps its clients");
	unlink(path);
	leave_socket();
	listen_close(&first, 1);
	is_int(access(path, F_OK), 0, "listen_close() leaves the socket of another server");
	unlink(path);
}

static void test_wrong_path(void)
{
	struct options options = { .socket = path, .mode = 0600 };
	char text[200];
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	close(fd);
	is_errno(open_sockets(&options), EEXIST, "a file that is no socket is refused");
	ok(message_is("is not a socket"), "the error says that it is no socket");
	is_int(access(path, F_OK), 0, "the file is still there");
	unlink(path);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	options.socket = text;
	is_errno(open_sockets(&options), ENAMETOOLONG, "a path that is too long is refused");
	options.socket = "/tmp/listen_test.none/x";
	is_errno(open_sockets(&options), ENOENT, "a directory that is missing is an error");
	ok(message_is("/tmp/listen_test.none/"), "the error names the directory");
	options.socket = path;
	options.group = "no-such-group";
	is_errno(open_sockets(&options), ENOENT, "an unknown group is an error");
	ok(message_is("there is no group 'no-such-group'"), "the error names the group");
	is_int(access(path, F_OK), -1, "there is no socket then");
}

/* One of several servers that start at once. It says 1 if it has the socket, and waits. */
static void run_rival(int go, int said, int end)
{
	struct options options = { .socket = path, .mode = 0600 };
	char byte;

	if (read(go, &byte, 1) < 0)
		_exit(1);
	byte = listen_open(&options, list, MOST) == 1;
	if (write(said, &byte, 1) != 1 || read(end, &byte, 1) < 0)
		_exit(1);
	_exit(0);
}

static void test_rivals(void)
{
	int go[2], said[2], end[2], i, winners = 0;
	char byte;

	leave_socket();
	if (pipe(go) || pipe(said) || pipe(end))
		bail_out("no pipes: %s", strerror(errno));
	message_begin();
	for (i = 0; i < RIVALS; i++) {
		if (fork())
			continue;
		close(go[1]);
		close(end[1]);
		run_rival(go[0], said[1], end[0]);
	}
	close(go[1]);
	for (i = 0; i < RIVALS && read(said[0], &byte, 1) == 1; i++)
		winners += byte;
	close(end[1]);
	while (wait(NULL) > 0)
		;
	message_end();
	is_int(i, RIVALS, "all servers that start at once end their start");
	is_int(winners, 1, "one of them has the socket");
	unlink(path);
}

static const struct tcp_case {
	const char *address;
	const char *auth_file;
	int count;		/* or the negative errno */
	bool local;
} tcp_cases[] = {
	{ "127.0.0.1", NULL, 1, true },
	{ "127.0.0.1,127.0.0.2:0", NULL, 2, true },
	{ "127.9.9.9", "x", 1, true },
	{ "0.0.0.0", NULL, -EPERM, false },
	{ "0.0.0.0", "x", 1, false },
	{ "127.0.0.1,0.0.0.0", NULL, -EPERM, false },
	{ "", NULL, -EINVAL, false },
	{ "127.0.0.1,", NULL, -EINVAL, false },
	{ "127.0.0.1:", NULL, -EINVAL, false },
	{ ":11211", NULL, -EINVAL, false },
	{ "[127.0.0.1", NULL, -EINVAL, false },
	{ "[::1]x", NULL, -EINVAL, false },
	{ "127.0.0.1:http", NULL, -EINVAL, false },
	{ "192.0.2.1", "x", -EADDRNOTAVAIL, false },
};

static void test_tcp(void)
{
	const struct tcp_case *test;
	int count, i;

	for (test = tcp_cases; test < tcp_cases + ARRAY_SIZE(tcp_cases); test++) {
		struct options options = { .address = test->address, .auth_file = test->auth_file };

		count = open_sockets(&options);
		is_int(count, test->count, "'%s' %s a password file opens %d sockets",
		       test->address, test->auth_file ? "with" : "without", test->count);
		ok(count < 0 ? message_is("hbserve: ") : !test->local == !!*message,
		   "a line is printed for an error, and for an address that others reach");
		for (i = 0; i < count; i++)
			ok(list[i].local == test->local && list[i].auth == !!test->auth_file &&
			   !list[i].tls && port_of(list[i].fd) &&
			   fcntl(list[i].fd, F_GETFL) & O_NONBLOCK &&
			   fcntl(list[i].fd, F_GETFD) & FD_CLOEXEC,
			   "socket %d has a port, the rules of its address, and does not block", i);
		if (count > 0)
			listen_close(list, count);
	}
}

/* The loopback of IPv6, where the machine has it. */
static void test_tcp6(void)
{
	static const char * const names[] = { "::1", "[::1]", "[::1]:0" };
	struct sockaddr_in6 loopback = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	int fd = socket(AF_INET6, SOCK_STREAM, 0), count;
	bool there = fd >= 0 && !bind(fd, (struct sockaddr *)&loopback, sizeof(loopback));
	size_t i;

	close(fd);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct options options = { .address = names[i] };

		count = open_sockets(&options);
		ok(there ? count == 1 && list[0].local : count < 0,
		   "%s opens a local socket if the machine has IPv6", names[i]);
		if (count > 0)
			listen_close(list, count);
	}
}

static void test_busy_port(void)
{
	struct options options = { .address = "127.0.0.1" };
	struct listener first;

	is_int(open_sockets(&options), 1, "a port of the kernel's choice is opened");
	first = list[0];
	options.port = port_of(first.fd);
	is_errno(open_sockets(&options), EADDRINUSE, "a port that is in use is refused");
	ok(message_is("cannot listen on 127.0.0.1"), "the error names the address");
	listen_close(&first, 1);
	is_int(open_sockets(&options), 1, "the port is free after listen_close()");
	listen_close(list, 1);
}

static void test_tls(void)
{
	struct options options = { .socket = path, .mode = 0600, .address = "127.0.0.1",
				   .tls = true };

	is_int(open_sockets(&options), 2, "a unix socket and TCP are opened");
	ok(!list[0].tls && list[1].tls, "TCP alone is encrypted");
	listen_close(list, 2);
	options.address = NULL;
	is_errno(open_sockets(&options), EINVAL, "TLS without TCP is refused");
	ok(message_is("--tls is for TCP"), "the error says that TLS is for TCP");
	is_int(access(path, F_OK), -1, "the unix socket is gone again");
	options.socket = NULL;
	options.tls = false;
	is_errno(open_sockets(&options), EINVAL, "no socket at all is refused");
	ok(message_is("nothing to listen on"), "the error says what to give");
}

/* Makes descriptor PASSED a socket, as systemd does. */
static void pass(int type, const char *address, bool listens)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	char text[16];
	int fd = socket(AF_INET, type, 0);

	inet_pton(AF_INET, address, &name.sin_addr);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) ||
	    (listens && listen(fd, 1)))
		bail_out("cannot listen: %s", strerror(errno));
	if (fd != PASSED) {
		dup2(fd, PASSED);
		close(fd);
	}
	snprintf(text, sizeof(text), "%d", getpid());
	setenv("LISTEN_PID", text, 1);
	setenv("LISTEN_FDS", "1", 1);
}

static void test_passed(void)
{
	struct options options = { .socket = path, .mode = 0600 };

	if (fcntl(PASSED, F_GETFD) >= 0)
		bail_out("descriptor %d is in use", PASSED);
	pass(SOCK_STREAM, "127.0.0.1", true);
	is_int(open_sockets(&options), 2, "a passed socket is taken beside that of --unix-socket");
	ok(list[0].fd == PASSED && list[0].local && !list[0].path, "it is the passed one");
	ok(fcntl(PASSED, F_GETFL) & O_NONBLOCK, "it does not block from now on");
	ok(fcntl(PASSED, F_GETFD) & FD_CLOEXEC, "a program that is run does not inherit it");
	ok(!getenv("LISTEN_FDS"), "no program that is run takes it as its own");
	listen_close(list, 2);
	options.socket = NULL;
	pass(SOCK_STREAM, "0.0.0.0", true);
	is_errno(open_sockets(&options), EPERM,
		 "a passed socket that others reach is refused without a password file");
	pass(SOCK_STREAM, "127.0.0.1", false);
	is_errno(open_sockets(&options), EINVAL, "a passed socket that does not listen is refused");
	close(PASSED);
	pass(SOCK_DGRAM, "127.0.0.1", false);
	is_errno(open_sockets(&options), EINVAL, "a passed socket of UDP is refused");
	ok(message_is("ListenStream="), "the error says which sockets to pass");
	close(PASSED);
}

static void test_most(void)
{
	struct options options = { .address = "127.0.0.1,127.0.0.2,127.0.0.3" };
	int count;

	message_begin();
	count = listen_open(&options, list, 2);
	message_end();
	is_errno(count, E2BIG, "more sockets than there is room for are refused");
}

int main(void)
{
	if (!mkdtemp(directory))
		bail_out("cannot make a directory: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/socket", directory);
	test_passed();
	test_unix();
	test_stale();
	test_wrong_path();
	test_rivals();
	test_tcp();
	test_tcp6();
	test_busy_port();
	test_tls();
	test_most();
	rmdir(directory);
	return done_testing();
}
