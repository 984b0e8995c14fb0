// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader.h"

#define MODULE		"/sys/module/hashbelt"
#define CLOSED		MODULE "/parameters/closed"

/* The path of a mapping of a window, in /proc/PID/maps. */
#define MAPPING		"anon_inode:[hashbelt]"

/* Users that are named; more are counted. */
#define NAMED_USERS	8

/* Words of the command line of modprobe. */
#define WORDS_MAX	32

/**
 * loader_is_loaded() - whether the module is loaded
 *
 * Return: whether.
 */
bool loader_is_loaded(void)
{
	return !access(MODULE, F_OK);
}

/**
 * loader_users() - count what keeps the module from being removed
 *
 * Return: the number of open descriptors and of modules that use it; -1 if it is not loaded.
 */
long loader_users(void)
{
	FILE *file = fopen(MODULE "/refcnt", "re");
	long users = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &users) != 1)
		users = -1;
	fclose(file);
	return users;
}

/* Whether a process has a descriptor of the device. */
static bool has_open(const char *pid, dev_t device)
{
	char path[64];
	struct dirent *entry;
	struct stat stat;
	DIR *directory;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	directory = opendir(path);
	while (directory && !found && (entry = readdir(directory)))
		found = !fstatat(dirfd(directory), entry->d_name, &stat, 0) &&
			S_ISCHR(stat.st_mode) && stat.st_rdev == device;
	if (directory)
		closedir(directory);
	return found;
}

/* Whether a process has a window mapped. It may have no descriptor any more. */
static bool has_mapped(const char *pid)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;
	int at;

	snprintf(path, sizeof(path), "/proc/%.16s/maps", pid);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &size, file) > 0) {
		at = 0;
		/* A name of a file begins with a '/'. */
		if (sscanf(line, "%*s %*s %*s %*s %*s %n", &at) == EOF)
			continue;
		found = at && !strncmp(line + at, MAPPING, strlen(MAPPING));
	}
	if (file)
		fclose(file);
	free(line);
	return found;
}

/* Prints "a", or ", a" behind others. */
static void print_user(FILE *file, unsigned int *count, const char *kind, const char *name)
{
	if ((*count)++ < NAMED_USERS)
		fprintf(file, "%s%s %s", *count > 1 ? ", " : "", kind, name);
}

static void print_process(FILE *file, unsigned int *count, const char *pid)
{
	char path[64], name[64] = "?", text[128];
	FILE *comm;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	comm = fopen(path, "re");
	if (comm && fgets(name, sizeof(name), comm))
		name[strcspn(name, "\n")] = '\0';
	if (comm)
		fclose(comm);
	snprintf(text, sizeof(text), "%.16s (%s)", pid, name);
	print_user(file, count, "process", text);
}

/* Prints the entries of a directory that use the module. @device: 0 for all entries. */
static void print_entries(FILE *file, unsigned int *count, const char *path, dev_t device)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		if (!device && *entry->d_name != '.')
			print_user(file, count, "module", entry->d_name);
		else if (device && isdigit((unsigned char)*entry->d_name) &&
			 atol(entry->d_name) != getpid() &&
			 (has_open(entry->d_name, device) || has_mapped(entry->d_name)))
			print_process(file, count, entry->d_name);
	}
	if (directory)
		closedir(directory);
}

/**
 * loader_print_users() - print which processes and modules use the module
 * @file:	where
 * @device:	the path of the device
 *
 * Only root finds a process of another user. A descriptor that no process has, such as one on its
 * way through a socket, is not found.
 *
 * Return: their number.
 */
unsigned int loader_print_users(FILE *file, const char *device)
{
	unsigned int count = 0;
	struct stat stat_of;

	print_entries(file, &count, MODULE "/holders", 0);
	if (!stat(device, &stat_of) && S_ISCHR(stat_of.st_mode))
		print_entries(file, &count, "/proc", stat_of.st_rdev);
	if (count > NAMED_USERS)
		fprintf(file, " and %u more", count - NAMED_USERS);
	return count;
}

/* Appends NAME=VALUE. */
static void add_parameter(char *line, int directory, const char *name)
{
	size_t len = strlen(line);
	char value[128];
	ssize_t read_len;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	read_len = read(fd, value, sizeof(value) - 1);
	close(fd);
	if (read_len <= 0)
		return;
	value[read_len] = '\0';
	value[strcspn(value, "\n")] = '\0';
	snprintf(line + len, LOADER_PARAMETERS - len, "%s%s=%s", len ? " " : "", name, value);
}

/**
 * loader_parameters() - read the parameters of the loaded module
 * @line:	returned, LOADER_PARAMETERS bytes: NAME=VALUE, with blanks between them
 */
void loader_parameters(char *line)
{
	DIR *directory = opendir(MODULE "/parameters");
	struct dirent *entry;

	*line = '\0';
	while (directory && (entry = readdir(directory)))
		if (*entry->d_name != '.' && strcmp(entry->d_name, "used_bytes") &&
		    strcmp(entry->d_name, "closed"))
			add_parameter(line, dirfd(directory), entry->d_name);
	if (directory)
		closedir(directory);
}

/* Whether the module has an entry of its description, such as "name=hashbelt". */
static bool describes(const char *bytes, size_t size, const char *text, size_t len)
{
	return memmem(bytes, size, text, len);
}

/**
 * loader_check() - look whether the kernel may take a module for hashbelt
 * @fd:		the file of the module
 *
 * Return: NULL, or a sentence that says why it does not.
 */
const char *loader_check(int fd)
{
	static const char name[] = "name=hashbelt";
	struct utsname system;
	const char *wrong = NULL;
	struct stat stat;
	char magic[128], *bytes;

	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode) || !stat.st_size)
		return "it is no file";
	bytes = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return "it cannot be read";
	uname(&system);
	snprintf(magic, sizeof(magic), "vermagic=%s ", system.release);
	if (stat.st_size < 4 || memcmp(bytes, "\177ELF", 4) ||
	    !describes(bytes, stat.st_size, name, sizeof(name)))
		wrong = "it is no module hashbelt; a compressed one must be unpacked";
	else if (!describes(bytes, stat.st_size, magic, strlen(magic)))
		wrong = "it is built for another kernel than the running one";
	munmap(bytes, stat.st_size);
	return wrong;
}

/**
 * loader_insert() - load a file as the module
 * @fd:		the file
 * @parameters:	from loader_parameters()
 *
 * Return: 0, or the negative errno of the kernel.
 */
int loader_insert(int fd, const char *parameters)
{
	return syscall(SYS_finit_module, fd, parameters, 0) ? -errno : 0;
}

/**
 * loader_modprobe() - load the installed module
 * @parameters:	from loader_parameters()
 *
 * Return: 0; the negative errno of the call that did not run modprobe; -EIO if it failed, after its
 * message.
 */
int loader_modprobe(const char *parameters)
{
	char line[LOADER_PARAMETERS], *words[WORDS_MAX + 1] = { "modprobe", "hashbelt" };
	char *rest = line, *word;
	int count = 2, status;
	pid_t pid;

	snprintf(line, sizeof(line), "%s", parameters);
	while (count < WORDS_MAX && (word = strsep(&rest, " ")))
		if (*word)
			words[count++] = word;
	/* The end of a child could not be waited for while SIGCHLD is ignored. */
	signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		execvp(words[0], words);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return -ENOENT;
	return WIFEXITED(status) && !WEXITSTATUS(status) && loader_is_loaded() ? 0 : -EIO;
}

/**
 * loader_remove() - remove the module from the kernel
 *
 * Return: 0, or the negative errno of the kernel: -EWOULDBLOCK if it is used.
 */
int loader_remove(void)
{
	return syscall(SYS_delete_module, "hashbelt", O_NONBLOCK) ? -errno : 0;
}

/**
 * loader_close() - close the device to all but us, or open it to all
 * @closed:	close it
 *
 * The function is one that a signal's handler may call.
 *
 * Return: 0; -ENOENT if no module is loaded, or one without this parameter; -EPERM; -EIO.
 */
int loader_close(bool closed)
{
	int fd = open(CLOSED, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, closed ? "1" : "0", 1) != 1)
		err = errno == EPERM ? -EPERM : -EIO;
	close(fd);
	return err;
}

/**
 * loader_is_closed() - whether the device is closed
 *
 * Return: whether.
 */
bool loader_is_closed(void)
{
	char value = '0';
	int fd = open(CLOSED, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, &value, 1) != 1)
		value = '0';
	close(fd);
	return value == '1';
}
