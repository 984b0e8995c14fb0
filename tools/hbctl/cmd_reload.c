// SPDX-License-Identifier: GPL-2.0-only
/*
 * reload-module: another module in the place of the loaded one, with the same belts.
 *
 * The belts are in the files of a directory from before the old module goes until the new one has
 * them, so that no failure in between loses them: --resume goes on from there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "duration.h"
#include "loader.h"
#include "output.h"
#include "saved.h"
#include "settings.h"

/* The directory of the state, and in it those of a reload: while belts are saved, and then. */
#define STATE		"/var/lib/hashbelt"
#define UNREADY		"reload.new"
#define READY		"reload"

/**
 * struct reload - a reload that goes on
 * @request:	the request
 * @state:	the directory of the state
 * @path:	that of the belts
 * @belts:	the same, open
 * @file:	the new module; -1: modprobe chooses it
 * @fallback:	the module that is loaded if that fails; -1: modprobe chooses it
 * @parameters:	of the old module
 * @device:	the device of the old module: its group and mode
 * @infos:	the belts
 * @count:	their number
 * @entries:	entries saved, and then loaded
 * @lost:	belts that were not loaded
 */
struct reload {
	struct request *request;
	const char *state;
	char *path;
	struct saved_directory belts;
	int file;
	int fallback;
	char parameters[LOADER_PARAMETERS];
	struct stat device;
	struct hashbelt_info *infos;
	size_t count;
	__u64 entries;
	unsigned int lost;
};

static __u64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static enum status fail_errno(const char *what, const char *path, int err)
{
	fail_cause(err);
	return fail(STATUS_ERROR, "cannot %s %s: %s", what, path, strerror(err));
}

/* Says what uses the module. */
static enum status fail_used(const struct reload *reload)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	unsigned int count;

	if (!file)
		return fail(STATUS_ERROR, "out of memory");
	count = loader_print_users(file, reload->request->device);
	fclose(file);
	fail_cause(EBUSY);
	if (count)
		fail(STATUS_NO, "the module is in use, and stays: end %s first", text);
	else
		fail(STATUS_NO,
		     "the module is in use, and stays: /proc does not show by what, perhaps by a process of another namespace");
	free(text);
	return STATUS_NO;
}

/* Files have neither locks nor events. These must not be lost unasked. */
static enum status check_belts(const struct reload *reload)
{
	const struct hashbelt_info *info = reload->infos, *end = info + reload->count;

	for (; info < end && !request_option(reload->request, "force"); info++) {
		if (info->locks)
			return fail(STATUS_NO,
				    "belt '%s' has %llu locks, which a reload unlocks: --force does it all the same",
				    info->name, info->locks);
		if (info->queued + info->in_flight)
			return fail(STATUS_NO,
				    "belt '%s' has %llu events that were not read, which a reload drops: --force does it all the same",
				    info->name, info->queued + info->in_flight);
	}
	return STATUS_DONE;
}

/* The number of changes that programs have made to the bound belt. */
static int count_changes(struct hashbelt *handle, __u64 *changes)
{
	static const enum hashbelt_counter counted[] = {
		HASHBELT_STAT_PUTS_NEW, HASHBELT_STAT_PUTS_REPLACED, HASHBELT_STAT_TOUCHES,
		HASHBELT_STAT_REMOVES, HASHBELT_STAT_CLEARED, HASHBELT_STAT_ADDS,
		HASHBELT_STAT_LOCKS, HASHBELT_STAT_RELEASED,
	};
	__u64 counters[HASHBELT_STAT_COUNT] = { 0 };
	unsigned int count = HASHBELT_STAT_COUNT, i;
	int err = hashbelt_stat(handle, counters, &count);

	*changes = 0;
	for (i = 0; i < ARRAY_SIZE(counted); i++)
		*changes += counters[counted[i]];
	return err;
}

static enum status save_belt(struct reload *reload, const struct hashbelt_info *info,
			     __u64 *changes)
{
	struct request *request = reload->request;
	enum status status;
	__u64 entries;
	int err;

	request->belt = info->name;
	err = hashbelt_bind(request->handle, info->name);
	if (!err)
		err = count_changes(request->handle, changes);
	if (err)
		return fail_bind(request, err);
	status = saved_write(request, &reload->belts, info, &entries);
	if (!status)
		reload->entries += entries;
	return status;
}

/* Whether a program has changed the belt since it was saved. */
static enum status check_change(struct reload *reload, const struct hashbelt_info *info,
				__u64 changes)
{
	__u64 now;

	if (hashbelt_bind(reload->request->handle, info->name) ||
	    count_changes(reload->request->handle, &now) || now != changes)
		return fail(STATUS_NO,
			    "a program has changed belt '%s' while it was saved, and the module stays: end the program first",
			    info->name);
	return STATUS_DONE;
}

/* Whether there are the belts that were saved, of the same owners. */
static enum status check_list(struct reload *reload)
{
	struct hashbelt_info *infos = NULL;
	size_t count = 0, i;
	int err = belts_read(reload->request->handle, &infos, &count);
	bool same = !err && count == reload->count;

	for (i = 0; same && i < count; i++)
		same = infos[i].uid == reload->infos[i].uid &&
		       !strcmp(infos[i].name, reload->infos[i].name);
	free(infos);
	return same ? STATUS_DONE :
	       fail(STATUS_NO,
		    "a program has made or destroyed a belt meanwhile, and the module stays: end the program first");
}

static enum status save_belts(struct reload *reload)
{
	__u64 *changes = calloc(reload->count + 1, sizeof(*changes));
	enum status status = STATUS_DONE;
	size_t i;

	if (!changes)
		return fail(STATUS_ERROR, "out of memory");
	for (i = 0; !status && i < reload->count; i++)
		status = save_belt(reload, &reload->infos[i], &changes[i]);
	for (i = 0; !status && i < reload->count; i++)
		status = check_change(reload, &reload->infos[i], changes[i]);
	if (!status)
		status = check_list(reload);
	free(changes);
	return status;
}

/* Removes the files of a directory, and the directory. */
static void remove_directory(const struct reload *reload, const char *name)
{
	char *path;
	struct dirent *entry;
	DIR *directory;

	if (asprintf(&path, "%s/%s", reload->state, name) < 0)
		return;
	directory = opendir(path);
	while (directory && (entry = readdir(directory)))
		if (*entry->d_name != '.' || strlen(entry->d_name) > 2)
			unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(path);
	free(path);
}

static enum status open_belts(struct reload *reload, const char *name)
{
	free(reload->path);
	if (asprintf(&reload->path, "%s/%s", reload->state, name) < 0)
		return fail(STATUS_ERROR, "out of memory");
	return saved_begin(&reload->belts, reload->path);
}

/* Makes the directory for the belts. One that is there is of a reload that did not come far. */
static enum status make_directory(struct reload *reload)
{
	struct saved_directory state;
	enum status status;

	if (mkdir(reload->state, 0700) && errno != EEXIST)
		return fail_errno("make", reload->state, errno);
	status = saved_begin(&state, reload->state);
	if (status)
		return status;
	if (!faccessat(state.fd, READY, F_OK, 0))
		status = fail(STATUS_NO,
			      "%s/%s has the belts of a reload that did not end: --resume loads them, and 'rm -r' drops them",
			      reload->state, READY);
	remove_directory(reload, UNREADY);
	if (!status && mkdirat(state.fd, UNREADY, 0700))
		status = fail_errno("make a directory in", reload->state, errno);
	close(state.fd);
	return status ? status : open_belts(reload, UNREADY);
}

/* From here on --resume finds the belts. */
static enum status keep_directory(struct reload *reload)
{
	char *path;
	int err = 0;

	if (asprintf(&path, "%s/" READY, reload->state) < 0)
		return fail(STATUS_ERROR, "out of memory");
	if (rename(reload->path, path))
		err = errno;
	free(reload->path);
	reload->path = path;
	reload->belts.path = path;
	return err ? fail_errno("rename a directory to", path, err) : STATUS_DONE;
}

/* Makes a belt that another user owns, within the limits of that user. */
static int create_owned(struct request *request, const struct settings *settings, uid_t owner)
{
	struct hashbelt_settings group = {
		.fields = HASHBELT_SET_GID, .gid = settings->belt.gid,
	};
	struct hashbelt_settings belt = settings->belt;
	int err;

	belt.fields = 0;
	if (seteuid(owner))
		return -errno;
	err = hashbelt_create(request->handle, request->belt, &belt);
	if (seteuid(0))
		return -errno;
	return err ? err : hashbelt_set(request->handle, &group);
}

/* Makes the request's belt with these settings, or gives them to one that is there. */
static enum status make_belt(struct request *request, struct settings *settings, uid_t owner)
{
	struct hashbelt_info info;
	int err = hashbelt_bind(request->handle, request->belt);

	if (err && err != -ENOENT)
		return fail_bind(request, err);
	if (err && !owner)
		return belt_create(request, settings);
	if (err) {
		err = create_owned(request, settings, owner);
		return err ? fail_call(request, HASHBELT_CALL_CREATE, err) : STATUS_DONE;
	}
	err = belt_find(request, &info);
	return err ? fail_call(request, HASHBELT_CALL_INFO, err) :
		     belt_set(request, &info, settings);
}

static enum status restore_settings(struct request *request, struct saved *saved)
{
	struct settings settings;
	enum status status;
	char *line = NULL;
	size_t room = 0;
	ssize_t len = getline(&line, &room, saved->file);

	if (len <= 0 || !line_is(line, len, SETTINGS_MARK)) {
		free(line);
		return fail(STATUS_ERROR, "%s: the first line has no settings", saved->path);
	}
	line[strcspn(line, "\n")] = '\0';
	status = settings_parse(request, line, &settings);
	free(line);
	if (!status)
		status = make_belt(request, &settings, saved->owner);
	/* The belt's time stands still before it has entries. */
	if (!status && saved->halted && hashbelt_halt(request->handle))
		status = fail(STATUS_ERROR, "belt '%s' could not be halted", request->belt);
	return status;
}

/* Makes the belt of a file, and loads its entries. */
static void restore_belt(struct reload *reload, const char *name)
{
	struct request *request = reload->request;
	struct saved_counts counts = { 0 };
	enum status status;
	struct saved saved;

	request->belt = name;
	status = saved_open(&reload->belts, name, &saved);
	if (!status && !saved.file)
		status = STATUS_ERROR;
	if (!status)
		status = restore_settings(request, &saved);
	if (!status)
		status = saved_load(request, &reload->belts, &saved, &counts);
	saved_close(&saved);
	reload->entries += counts.loaded;
	reload->count += !status;
	reload->lost += !!status;
}

/* Whether the name of a file is that of a belt's. Cuts the end off. */
static bool is_belt(char *name)
{
	size_t len = strlen(name), suffix = strlen(SAVED_SUFFIX);

	if (len <= suffix || len - suffix >= HASHBELT_NAME_SIZE ||
	    strcmp(name + len - suffix, SAVED_SUFFIX))
		return false;
	name[len - suffix] = '\0';
	return true;
}

/* Makes the belts of the files, and loads their entries. */
static enum status restore_belts(struct reload *reload)
{
	enum status status = request_open(reload->request);
	struct dirent **entries;
	int count, i;

	reload->entries = 0;
	reload->count = 0;
	if (status)
		return status;
	count = scandir(reload->path, &entries, NULL, NULL);
	if (count < 0)
		return fail_errno("read", reload->path, errno);
	for (i = 0; i < count; i++) {
		if (is_belt(entries[i]->d_name))
			restore_belt(reload, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (reload->lost)
		return fail(STATUS_ERROR,
			    "%u belts were not loaded: their files are in %s, and --resume tries again",
			    reload->lost, reload->path);
	rmdir(reload->path);
	return STATUS_DONE;
}

static int insert(const struct reload *reload, int fd)
{
	return fd < 0 ? loader_modprobe(reload->parameters) :
			loader_insert(fd, reload->parameters);
}

/* The name of the module that is to be loaded. */
static const char *module_name(const struct reload *reload)
{
	if (reload->request->count)
		return reload->request->operands[0];
	return "the module that modprobe finds";
}

/* Loads the new module, or else the old one. @failed: returned: the new one was not loaded. */
static enum status load_module(const struct reload *reload, bool *failed)
{
	int err = insert(reload, reload->file);

	*failed = err;
	if (!err)
		return STATUS_DONE;
	fail_cause(err);
	fail(STATUS_ERROR, "cannot load %s: %s: the end of dmesg may say more",
	     module_name(reload), strerror(-err));
	if ((reload->file >= 0 || reload->fallback >= 0) && !insert(reload, reload->fallback))
		return STATUS_DONE;
	return fail(STATUS_ERROR,
		    "no module is loaded: the belts are in %s: load one, and then 'hbctl reload-module --resume'",
		    reload->path);
}

static void report(const struct reload *reload, __u64 away_ms, bool failed)
{
	struct json_object *object;
	char text[DURATION_SIZE];

	if (reload->request->json) {
		object = json_object_new_object();
		json_add_number(object, "belts", reload->count);
		json_add_number(object, "entries", reload->entries);
		json_add_number(object, "away_ms", away_ms);
		json_print(object);
		return;
	}
	printf("the %s, with %zu belts and %llu entries; hashbelt was away for %s\n",
	       failed ? "old module is loaded again" : "new module is loaded", reload->count,
	       reload->entries, duration_format(text, away_ms));
}

/* The signals that would end the program while the belts are only in files. */
static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGPIPE);
	sigprocmask(how, &set, NULL);
}

/* Gives the device the group and mode that it had: programs need not wait until udev does so. */
static void restore_device(const struct reload *reload)
{
	const char *path = reload->request->device;

	if (chown(path, reload->device.st_uid, reload->device.st_gid) ||
	    chmod(path, reload->device.st_mode & 07777))
		fail_errno("restore the rights of", path, errno);
}

/* Changes the modules. The belts are saved. */
static enum status exchange(struct reload *reload)
{
	enum status status;
	__u64 began;
	bool failed;
	int err;

	hashbelt_close(reload->request->handle);
	reload->request->handle = NULL;
	status = keep_directory(reload);
	if (status)
		return status;
	block_signals(SIG_BLOCK);
	began = now_ms();
	err = loader_remove();
	if (err) {
		block_signals(SIG_UNBLOCK);
		remove_directory(reload, READY);
		return err == -EWOULDBLOCK ? fail_used(reload) :
					     fail_errno("remove", "the module", -err);
	}
	status = load_module(reload, &failed);
	if (!status)
		status = restore_belts(reload);
	if (!status) {
		restore_device(reload);
		report(reload, now_ms() - began, failed);
	}
	block_signals(SIG_UNBLOCK);
	return status ? status : failed ? STATUS_ERROR : STATUS_DONE;
}

static enum status open_module(const char *path, int *fd)
{
	const char *wrong;

	*fd = -1;
	if (!path)
		return STATUS_DONE;
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return fail_errno("open", path, errno);
	wrong = loader_check(*fd);
	return wrong ? fail(STATUS_ERROR, "%s: %s", path, wrong) : STATUS_DONE;
}

static enum status begin(struct reload *reload)
{
	struct request *request = reload->request;
	enum status status;
	int err;

	status = open_module(request->count ? request->operands[0] : NULL, &reload->file);
	if (!status)
		status = open_module(request_option(request, "fallback"), &reload->fallback);
	if (!status)
		status = request_open(request);
	if (status)
		return status;
	/* Our own descriptor counts. */
	if (loader_users() > 1)
		return fail_used(reload);
	err = belts_read(request->handle, &reload->infos, &reload->count);
	if (err)
		return fail(STATUS_ERROR, "cannot list the belts: %s", strerror(-err));
	loader_parameters(reload->parameters);
	if (stat(request->device, &reload->device))
		return fail_errno("look at", request->device, errno);
	return check_belts(reload);
}

/* Saves the belts, and changes the modules. */
static enum status reload_all(struct reload *reload)
{
	enum status status = begin(reload);

	if (!status)
		status = make_directory(reload);
	if (status)
		return status;
	status = save_belts(reload);
	if (status)
		remove_directory(reload, UNREADY);
	return status ? status : exchange(reload);
}

/* Loads the belts that an earlier reload has left. */
static enum status resume(struct reload *reload)
{
	enum status status = open_belts(reload, READY);
	__u64 began = now_ms();
	bool failed = false;

	reload->fallback = -1;
	if (!status)
		status = open_module(reload->request->count ? reload->request->operands[0] : NULL,
				     &reload->file);
	if (!status && !loader_is_loaded())
		status = load_module(reload, &failed);
	if (!status)
		status = restore_belts(reload);
	if (!status)
		report(reload, now_ms() - began, failed);
	return status;
}

/**
 * cmd_reload_module() - hbctl reload-module
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_reload_module(struct request *request)
{
	const char *state = request_option(request, "directory");
	struct reload reload = {
		.request = request,
		.state = state ? state : STATE,
		.belts.keeps = true,
	};
	enum status status;

	if (geteuid())
		return fail(STATUS_REACH, "reload-module is for root");
	status = request_option(request, "resume") ? resume(&reload) : reload_all(&reload);
	free(reload.infos);
	free(reload.path);
	return status;
}
