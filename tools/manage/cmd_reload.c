// SPDX-License-Identifier: GPL-2.0-only
/*
 * reload-module: another module in the place of the loaded one, with the same belts.
 *
 * The belts are in the files of a directory from before the old module goes until the new one has
 * them, so that no failure in between loses them: --resume goes on from there. The device is closed
 * to all other programs from before the first belt is saved until the last one is restored, so they
 * change nothing that is saved already, and see no belt that is not whole.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "duration.h"
#include "gate.h"
#include "json.h"
#include "loader.h"
#include "saved.h"
#include "settings.h"

/* The directory of the state, and in it those of a reload: while belts are saved, and then. */
#define STATE		"/var/lib/hashbelt"
#define UNREADY		"reload.new"
#define READY		"reload"

/* The parameter of a module whose device is closed. */
#define CLOSED		"closed=1 "

/**
 * struct reload - a reload that goes on
 * @request:	the request
 * @state:	the directory of the state
 * @path:	that of the belts
 * @belts:	the same, open
 * @file:	the new module; -1: modprobe chooses it
 * @fallback:	the module that is loaded if that fails; -1: modprobe chooses it
 * @parameters:	of the old module, and that it is closed
 * @device:	the device of the old module: its group and mode
 * @infos:	the belts
 * @count:	their number
 * @entries:	entries saved, and then loaded
 * @lost:	belts that were not loaded
 * @began:	when the device was closed, ms
 */
struct reload {
	struct request *request;
	const char *state;
	char *path;
	struct saved_directory belts;
	int file;
	int fallback;
	char parameters[LOADER_PARAMETERS + sizeof(CLOSED)];
	struct stat device;
	struct hashbelt_info *infos;
	size_t count;
	__u64 entries;
	unsigned int lost;
	__u64 began;
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

/* The belts, as they are now. */
static enum status read_belts(struct reload *reload)
{
	int err;

	free(reload->infos);
	reload->infos = NULL;
	err = belts_read(reload->request->handle, &reload->infos, &reload->count);
	return err ? fail(STATUS_ERROR, "cannot list the belts: %s", strerror(-err)) :
		     check_belts(reload);
}

static enum status save_belt(struct reload *reload, const struct hashbelt_info *info)
{
	struct request *request = reload->request;
	enum status status;
	__u64 entries;
	int err;

	request->belt = info->name;
	err = hashbelt_bind(request->handle, info->name);
	if (err)
		return fail_bind(request, err);
	status = saved_write(request, &reload->belts, info, &entries);
	if (!status)
		reload->entries += entries;
	return status;
}

static enum status save_belts(struct reload *reload)
{
	enum status status = STATUS_DONE;
	size_t i;

	for (i = 0; !status && i < reload->count; i++)
		status = save_belt(reload, &reload->infos[i]);
	/* Entries may have expired meanwhile, of which events tell. */
	return status ? status : read_belts(reload);
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
	struct saved_directory state = { 0 };
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
	if (err)
		return fail_errno("rename a directory to", path, err);
	err = -gate_note(path);
	if (!err)
		return STATUS_DONE;
	remove_directory(reload, READY);
	return fail_errno("write to", HASHBELT_RELOADING, err);
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
	struct text_line line = { .most = LINE_MAX_BYTES };
	enum text_line_end end = text_line_read(&line, saved->file);

	if (end == TEXT_LINE_MEMORY) {
		status = fail(STATUS_ERROR, "out of memory");
	} else if (end != TEXT_LINE_WHOLE || !line_is(line.text, line.len, SETTINGS_MARK)) {
		status = fail(STATUS_ERROR, "%s: the first line has no settings", saved->path);
	} else {
		fail_at(saved->path, 1);
		status = settings_parse(request, line.text, &settings);
		fail_at(NULL, 0);
	}
	free(line.text);
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
	enum status status = gate_open_device(reload->request);
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
			    "%u belts were not loaded: their files are in %s, and --resume tries again; with --force it opens the device without them",
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
		    "no module is loaded: the belts are in %s: 'hbctl reload-module --resume FILE' loads the module FILE, and then the belts",
		    reload->path);
}

static void report(const struct reload *reload, __u64 away_ms, bool failed)
{
	struct json object;
	char text[DURATION_SIZE];

	if (reload->request->json) {
		object = json_begin(stdout);
		json_add_number(&object, "belts", reload->count);
		json_add_number(&object, "entries", reload->entries);
		json_add_number(&object, "away_ms", away_ms);
		json_end(object);
		return;
	}
	printf("the %s, with %zu belts and %llu entries; hashbelt was away for %s\n",
	       failed ? "old module is loaded again" : "new module is loaded", reload->count,
	       reload->entries, duration_format(text, away_ms));
}

/* Gives the device the group and mode that it had, before udev does so and before it is opened. */
static void restore_device(const struct reload *reload)
{
	const char *path = reload->request->device;

	if (chown(path, reload->device.st_uid, reload->device.st_gid) ||
	    chmod(path, reload->device.st_mode & 07777))
		fail_errno("restore the rights of", path, errno);
}

/* Removes the old module. The belts are saved. */
static enum status remove_old(struct reload *reload)
{
	int err;

	hashbelt_close(reload->request->handle);
	reload->request->handle = NULL;
	err = gate_remove_module();
	if (!err)
		return STATUS_DONE;
	remove_directory(reload, READY);
	gate_open();
	return err == -EWOULDBLOCK ? fail_used(reload) : fail_errno("remove", "the module", -err);
}

/* Opens the device to all programs, which find the belts in it. */
static void finish(struct reload *reload, bool failed)
{
	hashbelt_close(reload->request->handle);
	reload->request->handle = NULL;
	gate_open();
	report(reload, now_ms() - reload->began, failed);
}

/*
 * Changes the modules. After an error from load_module() on, the device stays closed, or there is
 * none, until --resume.
 */
static enum status exchange(struct reload *reload)
{
	enum status status;
	bool failed;

	gate_hold();
	status = keep_directory(reload);
	if (status) {
		remove_directory(reload, UNREADY);
		gate_open();
		return status;
	}
	status = remove_old(reload);
	if (status)
		return status;
	status = load_module(reload, &failed);
	if (status)
		return status;
	restore_device(reload);
	status = restore_belts(reload);
	if (status)
		return status;
	finish(reload, failed);
	return failed ? STATUS_ERROR : STATUS_DONE;
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

/* Opens the new module, and the one for the case that it does not load. */
static enum status open_modules(struct reload *reload)
{
	struct request *request = reload->request;
	enum status status;

	status = open_module(request->count ? request->operands[0] : NULL, &reload->file);
	if (!status)
		status = open_module(request_option(request, "fallback"), &reload->fallback);
	return status;
}

/* Saves the belts. The device is closed. */
static enum status save_all(struct reload *reload)
{
	struct request *request = reload->request;
	enum status status = gate_open_device(request);

	if (status)
		return status;
	if (!gate_is_left(1))
		return fail_used(reload);
	/* The first one: a line that is too long is cut at its end. */
	strcpy(reload->parameters, CLOSED);
	loader_parameters(reload->parameters + strlen(CLOSED));
	if (stat(request->device, &reload->device))
		return fail_errno("look at", request->device, errno);
	status = read_belts(reload);
	if (!status)
		status = make_directory(reload);
	if (status)
		return status;
	status = save_belts(reload);
	if (status)
		remove_directory(reload, UNREADY);
	return status;
}

/* Saves the belts, and changes the modules. */
static enum status reload_all(struct reload *reload)
{
	enum status status = open_modules(reload);

	if (!status)
		status = gate_lock();
	if (status)
		return status;
	reload->began = now_ms();
	status = gate_close(reload->request);
	if (!status)
		status = save_all(reload);
	if (!status)
		return exchange(reload);
	gate_open();
	return status;
}

/* Without files: a command that has closed the device was killed before it removed the module. */
static enum status resume_open(struct reload *reload)
{
	bool closed = loader_is_closed();
	char path[PATH_MAX];

	if (gate_noted(path, sizeof(path)))
		return fail(STATUS_NO,
			    "the belts are in %s: name the directory above it by --directory",
			    path);
	gate_open();
	if (!closed)
		return fail(STATUS_ERROR, "%s/%s is missing: no reload was left unfinished",
			    reload->state, READY);
	if (reload->request->json)
		report(reload, 0, false);
	else
		puts("the device is open again, with all belts");
	return STATUS_DONE;
}

/* Loads the belts, and a module before if none is loaded. */
static enum status resume_all(struct reload *reload)
{
	enum status status = open_belts(reload, READY);
	bool failed = false;

	strcpy(reload->parameters, CLOSED);
	if (!status && !loader_is_loaded())
		status = load_module(reload, &failed);
	if (!status)
		status = restore_belts(reload);
	if (!status || (reload->lost && request_option(reload->request, "force")))
		finish(reload, failed);
	return status;
}

/* Whether a command has left the files of belts. */
static bool has_files(const struct reload *reload)
{
	struct stat stat;
	bool found;
	char *path;

	if (asprintf(&path, "%s/" READY, reload->state) < 0)
		return true;
	found = !lstat(path, &stat);
	free(path);
	return found;
}

/* Goes on where an earlier command was killed or has failed. */
static enum status resume(struct reload *reload)
{
	struct request *request = reload->request;
	enum status status = open_modules(reload);
	bool open;

	if (!status)
		status = gate_lock();
	if (status)
		return status;
	open = loader_is_loaded() && !loader_is_closed();
	if (!has_files(reload))
		return resume_open(reload);
	if (open && !request_option(request, "force")) {
		gate_open();
		return fail(STATUS_NO,
			    "the device was opened since: --force loads the belts of %s/%s where programs have put nothing newer, and brings back what they removed; 'rm -r' drops them",
			    reload->state, READY);
	}
	reload->began = now_ms();
	gate_hold();
	status = gate_close(request);
	if (!status)
		status = resume_all(reload);
	if (status && open)
		gate_open();
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
	enum status status = request_without_owner(request);

	if (status)
		return status;
	if (geteuid())
		return fail(STATUS_REACH, "reload-module is for root");
	status = request_option(request, "resume") ? resume(&reload) : reload_all(&reload);
	free(reload.infos);
	free(reload.path);
	return status;
}
