// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sockets on which hbserve waits for clients: those that systemd passes, a unix socket, and TCP
 * where it was asked for. An address that other machines reach needs a file of passwords.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "listen.h"
#include "options.h"

/* Clients that may wait until the server accepts them; as memcached. */
#define BACKLOG		1024

/**
 * struct opening - the sockets that listen_open() has opened so far
 * @options:	the options
 * @list:	the sockets
 * @count:	their number
 * @most:	how many there is room for
 */
struct opening {
	const struct options *options;
	struct listener *list;
	unsigned int count;
	unsigned int most;
};

/* Any address of a socket. */
union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
	struct sockaddr_storage room;
};

/* Prints a message. Return: -err. */
__attribute__((format(printf, 2, 3)))
static int fail(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("hbserve: ", stderr);
	vfprintf(stderr, format, args);
	fputs("\n", stderr);
	va_end(args);
	return -err;
}

static bool is_loopback4(const void *address)
{
	return *(const unsigned char *)address == 127;
}

static bool is_local(const union address *address)
{
	const struct in6_addr *v6 = &address->v6.sin6_addr;

	switch (address->any.sa_family) {
	case AF_UNIX:
		return true;
	case AF_INET:
		return is_loopback4(&address->v4.sin_addr);
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(v6) ||
		       (IN6_IS_ADDR_V4MAPPED(v6) && is_loopback4(v6->s6_addr + 12));
	default:
		return false;
	}
}

/* Writes an address for messages. */
static const char *address_text(const union address *address, socklen_t len, char *text,
				size_t size)
{
	char host[64], port[8];

	if (getnameinfo(&address->any, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, size, "a socket of family %d", address->any.sa_family);
	else
		snprintf(text, size, address->any.sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
			 port);
	return text;
}

/* Adds a listening socket with an address. Closes it if it may not be used. */
static int add(struct opening *opening, int fd)
{
	const struct options *options = opening->options;
	union address address = { 0 };
	socklen_t len = sizeof(address);
	struct listener *listener;
	char text[160];

	if (opening->count == opening->most) {
		close(fd);
		return fail(E2BIG, "more than %u sockets to listen on", opening->most);
	}
	if (getsockname(fd, &address.any, &len)) {
		close(fd);
		return fail(ENOTSOCK, "descriptor %d: %s", fd, strerror(errno));
	}
	address_text(&address, len, text, sizeof(text));
	if (!is_local(&address) && !options->auth_file) {
		close(fd);
		return fail(EPERM,
			    "other machines reach %s: give --auth-file, or listen on 127.0.0.1",
			    text);
	}
	if (!is_local(&address))
		fail(0, "other machines reach %s%s", text,
		     options->tls ? "" : ", without encryption: --tls would encrypt");
	listener = &opening->list[opening->count++];
	*listener = (struct listener){
		.fd = fd, .local = is_local(&address), .auth = options->auth_file,
		.tls = options->tls && address.any.sa_family != AF_UNIX,
	};
	return 0;
}

/* Sockets that systemd has opened. */
static int add_passed(struct opening *opening)
{
	int count = sd_listen_fds(1), fd, err = 0;

	if (count < 0)
		return fail(-count, "cannot take the sockets of systemd: %s", strerror(-count));
	for (fd = SD_LISTEN_FDS_START; !err && fd < SD_LISTEN_FDS_START + count; fd++) {
		if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
			return fail(EINVAL,
				    "descriptor %d of systemd does not listen for streams: use ListenStream=, and Accept=no",
				    fd);
		if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
			return fail(errno, "descriptor %d: %s", fd, strerror(errno));
		err = add(opening, fd);
	}
	return err;
}

/* Finds a group by its name or number. */
static int find_group(const char *name, gid_t *gid)
{
	struct group *group = getgrnam(name);
	char *end;

	if (group) {
		*gid = group->gr_gid;
		return 0;
	}
	*gid = strtoul(name, &end, 10);
	return end != name && !*end ? 0 : fail(ENOENT, "there is no group '%s'", name);
}

/* Removes the socket of a server that has ended. The caller has locked the directory. */
static int remove_stale(const union address *address)
{
	const char *path = address->local.sun_path;
	struct stat found;
	int fd, err;

	if (lstat(path, &found))
		return errno == ENOENT ? 0 :
		       fail(errno, "cannot use %s: %s", path, strerror(errno));
	if (!S_ISSOCK(found.st_mode))
		return fail(EEXIST, "%s exists, and is not a socket: remove it, or give another",
			    path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(errno, "cannot make a socket: %s", strerror(errno));
	err = connect(fd, &address->any, sizeof(address->local)) ? errno : 0;
	close(fd);
	if (err != ECONNREFUSED)
		return fail(EADDRINUSE, "%s belongs to a server that runs: end it, or give another",
			    path);
	return unlink(path) ? fail(errno, "cannot remove %s: %s", path, strerror(errno)) : 0;
}

/* The socket gets its mode and group before it listens: until then nothing can connect. */
static int bind_unix(int fd, const struct options *options, const union address *address,
		     struct stat *made)
{
	const char *path = options->socket;
	gid_t gid = -1;
	mode_t mask;
	int err;

	if (options->group && find_group(options->group, &gid))
		return -ENOENT;
	mask = umask(0777 & ~options->mode);
	err = bind(fd, &address->any, sizeof(address->local)) ? errno : 0;
	umask(mask);
	if (err)
		return fail(err, "cannot make %s: %s", path, strerror(err));
	if (gid != (gid_t)-1 && lchown(path, -1, gid))
		err = fail(errno, "cannot give %s to group %s: %s", path, options->group,
			   strerror(errno));
	else if (lstat(path, made) || listen(fd, BACKLOG))
		err = fail(errno, "cannot listen on %s: %s", path, strerror(errno));
	if (err)
		unlink(path);
	return err;
}

/* Locks the directory of a path, so that one server at a time looks for a stale socket. */
static int lock_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
	int fd;

	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		 slash ? path : ".");
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail(errno, "cannot open %s: %s", directory, strerror(errno));
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	close(fd);
	return fail(EAGAIN, "another server starts in %s: try again", directory);
}

static int add_unix(struct opening *opening)
{
	const char *path = opening->options->socket;
	union address address = { .local.sun_family = AF_UNIX };
	struct listener *listener;
	struct stat made;
	int fd, lock, err;

	if (strlen(path) >= sizeof(address.local.sun_path))
		return fail(ENAMETOOLONG, "a path of a socket has at most %zu bytes: %s",
			    sizeof(address.local.sun_path) - 1, path);
	strcpy(address.local.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(errno, "cannot make a socket: %s", strerror(errno));
	lock = lock_directory(path);
	err = lock < 0 ? lock : remove_stale(&address);
	if (!err)
		err = bind_unix(fd, opening->options, &address, &made);
	if (lock >= 0)
		close(lock);
	if (err) {
		close(fd);
		return err;
	}
	err = add(opening, fd);
	if (err) {
		unlink(path);
		return err;
	}
	listener = &opening->list[opening->count - 1];
	listener->path = path;
	listener->device = made.st_dev;
	listener->inode = made.st_ino;
	return 0;
}

/* Listens on an address that was found. */
static int add_found(struct opening *opening, const struct addrinfo *found, const char *name)
{
	int on = 1, fd, err;

	fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(errno, "cannot make a socket for %s: %s", name, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (found->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, BACKLOG)) {
		err = errno;
		close(fd);
		return fail(err, "cannot listen on %s: %s", name, strerror(err));
	}
	return add(opening, fd);
}

/* Splits HOST, HOST:PORT, [HOST]:PORT or an address of IPv6 alone, and changes @name. */
static bool split_address(char *name, char **host, const char **port)
{
	char *colon = strchr(name, ':');

	*host = name;
	if (*name == '[') {
		*host = name + 1;
		colon = strchr(name, ']');
		if (!colon || (colon[1] && colon[1] != ':'))
			return false;
		*colon++ = '\0';
	} else if (colon && strchr(colon + 1, ':')) {
		return true;
	}
	if (colon && *colon) {
		*colon = '\0';
		*port = colon + 1;
	}
	return **host && **port;
}

/* The machine has no such address, as ::1 without IPv6. */
static bool is_absent(int err)
{
	return err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL;
}

/* Listens on those addresses of a name that the machine has. @name is changed. */
static int add_name(struct opening *opening, char *name)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	unsigned int before = opening->count;
	struct addrinfo *found, *next;
	char number[16], *host;
	const char *port = number;
	int err;

	snprintf(number, sizeof(number), "%u", opening->options->port);
	if (!split_address(name, &host, &port))
		return fail(EINVAL, "'%s' is not HOST, HOST:PORT or [HOST]:PORT", name);
	err = getaddrinfo(host, port, &hints, &found);
	if (err)
		return fail(EINVAL, "cannot listen on %s, port %s: %s", host, port,
			    gai_strerror(err));
	for (next = found; next && (!err || is_absent(err)); next = next->ai_next)
		err = add_found(opening, next, host);
	freeaddrinfo(found);
	return opening->count > before && is_absent(err) ? 0 : err;
}

static int add_names(struct opening *opening)
{
	char *names = strdup(opening->options->address), *rest = names, *name;
	int err = names ? 0 : -ENOMEM;

	while (!err && (name = strsep(&rest, ",")))
		err = add_name(opening, name);
	free(names);
	return err;
}

/**
 * listen_open() - open all sockets that hbserve listens on
 * @options:	the options; its texts have to stay
 * @list:	the sockets
 * @most:	how many there is room for
 *
 * Takes the sockets that systemd has passed. A unix socket has its mode and group before it can be
 * connected to; that of a server that has ended is replaced. Call it before there are threads: it
 * changes the umask.
 *
 * Return: the number of sockets, or a negative errno after a message on stderr.
 */
int listen_open(const struct options *options, struct listener *list, unsigned int most)
{
	struct opening opening = { .options = options, .list = list, .most = most };
	bool tls = false;
	unsigned int i;
	int err;

	err = add_passed(&opening);
	if (!err && options->socket)
		err = add_unix(&opening);
	if (!err && options->address)
		err = add_names(&opening);
	for (i = 0; i < opening.count; i++)
		tls |= list[i].tls;
	if (!err && !opening.count)
		err = fail(EINVAL, "nothing to listen on: give --unix-socket or --listen");
	else if (!err && options->tls && !tls)
		err = fail(EINVAL, "--tls is for TCP: give --listen");
	if (!err)
		return opening.count;
	listen_close(list, opening.count);
	return err;
}

/**
 * listen_close() - close the sockets of listen_open()
 * @list:	the sockets
 * @count:	their number
 *
 * The file of a unix socket goes, unless another one stands there now.
 */
void listen_close(struct listener *list, unsigned int count)
{
	struct stat found;
	unsigned int i;

	for (i = 0; i < count; i++) {
		const struct listener *listener = &list[i];

		if (listener->path && !lstat(listener->path, &found) &&
		    found.st_dev == listener->device && found.st_ino == listener->inode)
			unlink(listener->path);
		close(listener->fd);
	}
}
