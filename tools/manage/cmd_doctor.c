// SPDX-License-Identifier: GPL-2.0-only
/* The command doctor: whether the module can be used, and what to do if not. */
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "account.h"
#include "commands.h"
#include "install.h"
#include "json.h"
#include "module.h"

#define MODULE		"/sys/module/hashbelt"
#define PARAMETERS	MODULE "/parameters/"
#define NUMBER		"/sys/class/misc/hashbelt/dev"

/* Sockets of hbserve@.socket, and below it those of hbserve-redis@.socket. */
#define SOCKETS		"/run/hashbelt/"

/* Figures of hbfollow@.service, unless the environment has another directory, for tests. */
#define FIGURES		"/run/hbfollow"
#define FIGURES_VARIABLE "HBFOLLOW_FIGURES"

/* Seconds after which a file of figures, which is written each second, is one of a dead process. */
#define FIGURES_AGE	5

/* Flag of a socket that listens, in /proc/net/unix. */
#define LISTENS		0x10000

/* Percents of a limit from which on its use is worth a warning. */
#define NEARLY_FULL	90

/* The result of a check. */
enum finding {
	FINE,
	ADVICE,		/* hbctl works, but something is missing */
	WRONG,		/* hbctl does not work */
};

/**
 * struct doctor - checks that are made one after the other
 * @request:	the request
 * @worst:	the worst finding so far
 */
struct doctor {
	struct request *request;
	enum finding worst;
};

/* Prints a finding. @text: what was found, and what to do. */
__printf(4, 5)
static void report(struct doctor *doctor, enum finding finding, const char *check,
		   const char *format, ...)
{
	static const char * const words[] = {
		[FINE] = "ok", [ADVICE] = "advice", [WRONG] = "wrong",
	};
	struct json object;
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	doctor->worst = finding > doctor->worst ? finding : doctor->worst;
	if (!doctor->request->json) {
		printf("%-6s  %-7s  %s\n", words[finding], check, text);
		return;
	}
	object = json_begin(stdout);
	json_add_word(&object, "check", check);
	json_add_word(&object, "finding", words[finding]);
	json_add_bytes(&object, "text", text, strlen(text));
	json_end(object);
}

/* Reads the first line of a file. Return: whether there is one. */
static bool read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	bool good;

	if (!file)
		return false;
	good = fgets(line, size, file);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	fclose(file);
	return good;
}

/* Whether a line of a file contains a text. */
static bool has_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "re");
	bool found = false;
	char line[1024];

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, text);
	fclose(file);
	return found;
}

static bool is_loaded(void)
{
	return !access(MODULE, F_OK);
}

/*
 * A locked down kernel refuses a module without the signature of a key that it trusts. Without
 * sources for DKMS, only the administrator knows where a module is.
 */
static void check_module(struct doctor *doctor)
{
	static const char * const missing[] = {
		[MODULE_ANY] = "'modprobe hashbelt'",
		[MODULE_TRUSTED] =
			"'modprobe hashbelt'; the key of DKMS, /var/lib/dkms/mok.pub, is enrolled",
		[MODULE_NOT_ENROLLED] =
			"Secure Boot is on, and the key of DKMS is not enrolled: 'mokutil --import /var/lib/dkms/mok.pub', reboot, and choose 'Enroll MOK'",
		[MODULE_UNKNOWN_KEY] =
			"the kernel is locked down, and loads only modules with the signature of a key that it trusts: sign hashbelt with such a key",
	};

	enum module_trust trust = module_trust();
	char text[512];

	if (is_loaded()) {
		report(doctor, FINE, "module", "hashbelt is loaded");
	} else if (!install_has_module() && (install_has_sources() || trust == MODULE_ANY)) {
		install_why_no_module(text, sizeof(text));
		report(doctor, WRONG, "module", "hashbelt is not loaded: %s", text);
	} else {
		report(doctor, WRONG, "module", "hashbelt is not loaded: %s%s", missing[trust],
		       trust == MODULE_ANY && !install_is_loaded_at_boot() ?
		       ", and 'echo hashbelt >/etc/modules-load.d/hashbelt.conf' for each boot" :
		       "");
	}
}

/* The device has to be the one that the module has made. Without the module there is none. */
static void check_node(struct doctor *doctor)
{
	const char *device = doctor->request->device;
	char number[32], found[32];
	struct stat node;

	if (stat(device, &node)) {
		if (errno == ENOENT && !is_loaded())
			return;
		report(doctor, WRONG, "device", "%s: %s: load the module, or start udev", device,
		       strerror(errno));
		return;
	}
	snprintf(found, sizeof(found), "%u:%u", major(node.st_rdev), minor(node.st_rdev));
	if (!S_ISCHR(node.st_mode) || !read_line(NUMBER, number, sizeof(number)) ||
	    strcmp(number, found))
		report(doctor, WRONG, "device",
		       "%s is not the device of the module: remove it, and load the module again",
		       device);
	else
		report(doctor, FINE, "device", "%s has mode %04o, owner %u, group %u", device,
		       node.st_mode & 07777, node.st_uid, node.st_gid);
}

/* Opens the device, which compares the versions of the interface as well. */
static void check_open(struct doctor *doctor)
{
	struct request *request = doctor->request;
	char text[512];
	int err;

	/* The finding before is the cause. */
	if (doctor->worst == WRONG)
		return;
	err = hashbelt_open(request->device, &request->handle);
	if (err)
		report(doctor, WRONG, "rights", "%s",
		       hashbelt_strerror(NULL, err, HASHBELT_CALL_OPEN, request->device, text,
					 sizeof(text)));
	else
		report(doctor, FINE, "rights",
		       "you may open %s; module and hbctl have interface %d", request->device,
		       HASHBELT_ABI);
}

/* The group that a rule names. Return: what udev has against it, or NULL. */
static const char *objection(const char *group)
{
	unsigned long number;
	char *end;
	__u32 gid;

	number = strtoul(group, &end, 10);
	if (*group && !*end)
		gid = number;
	else if (*group && account_group(group, &gid))
		return "does not exist, so that udev may drop the whole line";
	if (*group && gid > install_system_gid_max())
		return "is no system group, of which udev of systemd 262 warns";
	return NULL;
}

static void check_rule(struct doctor *doctor)
{
	struct install_rule rule;
	const char *wrong;

	if (!install_find_rule(&rule)) {
		/* Nothing may be installed at all. */
		if (is_loaded())
			report(doctor, ADVICE, "udev",
			       "there is no %s, so the device has the module's parameter mode: 'make install' installs the rule",
			       INSTALL_RULE);
		return;
	}
	wrong = objection(rule.group);
	if (wrong)
		report(doctor, ADVICE, "udev",
		       "%s gives the device to the group %s, which %s: 'groupadd --system NAME' makes one",
		       rule.path, rule.group, wrong);
	else
		report(doctor, FINE, "udev", "%s sets group and mode of the device", rule.path);
}

/* Only root may read how much memory the module uses. */
static void check_memory(struct doctor *doctor)
{
	char most[32], used[32];
	__u64 limit, taken;

	if (!is_loaded())
		return;
	if (!read_line(PARAMETERS "max_bytes", most, sizeof(most))) {
		report(doctor, ADVICE, "memory", "the module's limit cannot be read");
		return;
	}
	limit = strtoull(most, NULL, 10);
	if (!read_line(PARAMETERS "used_bytes", used, sizeof(used))) {
		report(doctor, FINE, "memory", "the limit is %llu bytes; root sees the use", limit);
		return;
	}
	taken = strtoull(used, NULL, 10);
	if (limit && taken >= limit / 100 * NEARLY_FULL)
		report(doctor, ADVICE, "memory",
		       "%llu of %llu bytes are used: remove entries, or raise " PARAMETERS
		       "max_bytes", taken, limit);
	else
		report(doctor, FINE, "memory", "%llu of %llu bytes are used", taken, limit);
}

static bool is_nearly(__u64 used, __u64 limit)
{
	return limit && used >= (double)limit / 100 * NEARLY_FULL;
}

/* Belts that refuse puts, or soon will. */
static void check_belts(struct doctor *doctor)
{
	struct hashbelt_info *infos = NULL;
	size_t count = 0, full = 0, i;
	int err;

	if (!doctor->request->handle)
		return;
	err = belts_read(doctor->request->handle, &infos, &count);
	for (i = 0; !err && i < count; i++) {
		if (infos[i].policy & HASHBELT_EVICT ||
		    (!is_nearly(infos[i].used_entries, infos[i].max_entries) &&
		     !is_nearly(infos[i].used_bytes, infos[i].max_bytes)))
			continue;
		full++;
		report(doctor, ADVICE, "belts",
		       "belt '%s' is nearly full: raise its limits or let it evict ('hbctl set')",
		       infos[i].name);
	}
	if (err)
		report(doctor, WRONG, "belts", "cannot list the belts: %s", strerror(-err));
	else if (!full)
		report(doctor, FINE, "belts", "of %zu belts that you may use none is nearly full",
		       count);
	free(infos);
}

/* The number of processes of a program that the caller may see. */
static size_t count_processes(const char *program)
{
	glob_t found = { 0 };
	size_t count = 0, i;
	char name[32];

	glob("/proc/[0-9]*/comm", GLOB_NOSORT, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		count += read_line(found.gl_pathv[i], name, sizeof(name)) && !strcmp(name, program);
	globfree(&found);
	return count;
}

/* The listening sockets of SOCKETS. To connect would start the service behind one. */
static size_t list_sockets(char *text, size_t size)
{
	FILE *file = fopen("/proc/net/unix", "re");
	size_t count = 0, len = 0;
	char line[256], path[128];
	unsigned int flags;

	*text = '\0';
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %*s %*s %x %*s %*s %*s %127s", &flags, path) != 2 ||
		    !(flags & LISTENS) || strncmp(path, SOCKETS, strlen(SOCKETS)))
			continue;
		if (len < size)
			len += snprintf(text + len, size - len, "%s%s%s", count ? ", " : "", path,
					access(path, W_OK) ? " (not for you)" : "");
		count++;
	}
	if (file)
		fclose(file);
	return count;
}

/* systemd listens in the place of an hbserve that is not needed yet. */
static void check_serve(struct doctor *doctor)
{
	size_t processes = count_processes("hbserve"), sockets;
	char text[512], units[512];

	sockets = list_sockets(text, sizeof(text));
	if (!processes && !is_loaded() && install_list_units("hbserve*", units, sizeof(units)))
		report(doctor, ADVICE, "serve",
		       "%s: waits for the device, which starts it; until then its clients are refused",
		       units);
	else if (sockets)
		report(doctor, FINE, "serve",
		       "processes of hbserve: %zu; clients connect to %s", processes, text);
	else if (processes)
		report(doctor, FINE, "serve", "processes of hbserve: %zu, without a socket in %s",
		       processes, SOCKETS);
	else if (!install_has_unit("hbserve"))
		report(doctor, FINE, "serve",
		       "hbserve, of the package hashbelt-server, is not installed: it serves clients of memcached and Redis");
	else
		report(doctor, FINE, "serve",
		       "no hbserve runs: 'systemctl start hbserve@BELT' serves clients of memcached, and hbserve-redis@BELT those of Redis");
}

/**
 * struct followed - the figures of an hbfollow
 * @belt:	the belt, as the label has it
 * @engine:	the engine
 * @follows:	each change is told; -1: not found
 * @is_replica:	the engine copies another one
 * @has_belt:	there is such a belt
 * @since:	Unix time at which @follows became what it is
 */
struct followed {
	char belt[4 * HASHBELT_NAME_SIZE];
	char engine[32];
	int follows;
	bool is_replica;
	int has_belt;
	time_t since;
};

/* Reads a sample: its name, the labels, its value. */
static void read_sample(struct followed *followed, const char *line)
{
	char belt[sizeof(followed->belt)], engine[sizeof(followed->engine)], name[32];
	double value;

	if (sscanf(line, "hbfollow_%31[a-z_]{belt=\"%255[^\"]\",engine=\"%31[^\"]\"} %lf", name,
		   belt, engine, &value) != 4)
		return;
	if (!strcmp(name, "state")) {
		followed->follows = value > 0;
		strcpy(followed->belt, belt);
		strcpy(followed->engine, engine);
	} else if (!strcmp(name, "replica")) {
		followed->is_replica = value > 0;
	} else if (!strcmp(name, "belt")) {
		followed->has_belt = value > 0;
	} else if (!strcmp(name, "since_seconds") && value > 0 && value < 1e11) {
		followed->since = value;
	}
}

static bool read_figures(struct followed *followed, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[512];

	*followed = (struct followed){ .follows = -1, .has_belt = 1 };
	while (file && fgets(line, sizeof(line), file))
		read_sample(followed, line);
	if (file)
		fclose(file);
	return followed->follows >= 0;
}

static void report_followed(struct doctor *doctor, const struct followed *followed, time_t age)
{
	char since[32];

	strftime(since, sizeof(since), "%F %T", localtime(&followed->since));
	if (age > FIGURES_AGE)
		report(doctor, ADVICE, "follow",
		       "hbfollow of belt '%s' has not written for %lld s: 'systemctl restart hbfollow@%s'",
		       followed->belt, (long long)age, followed->belt);
	else if (!followed->follows)
		report(doctor, ADVICE, "follow",
		       "belt '%s': %s is lost since %s, so the belt is cleared again and again: 'systemctl status hbfollow@%s'",
		       followed->belt, followed->engine, since, followed->belt);
	else if (!followed->has_belt)
		report(doctor, ADVICE, "follow",
		       "hbfollow follows %s, but there is no belt '%s', or it has no right to that: 'hbctl create %s --group hashbelt --mode 0660'",
		       followed->engine, followed->belt, followed->belt);
	else
		report(doctor, FINE, "follow", "belt '%s' follows a %s of %s since %s",
		       followed->belt, followed->is_replica ? "replica" : "primary",
		       followed->engine, since);
}

/* The unit has a directory for each belt. */
static void check_follow(struct doctor *doctor)
{
	static const char * const patterns[] = { "%s/*.prom", "%s/*/*.prom" };
	const char *directory = getenv(FIGURES_VARIABLE);
	size_t processes = count_processes("hbfollow"), count = 0, i;
	struct followed followed;
	glob_t found = { 0 };
	char pattern[4096], text[512];
	struct stat file;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		snprintf(pattern, sizeof(pattern), patterns[i], directory ? directory : FIGURES);
		glob(pattern, i ? GLOB_APPEND : 0, NULL, &found);
	}
	for (i = 0; i < found.gl_pathc; i++) {
		if (stat(found.gl_pathv[i], &file) || !read_figures(&followed, found.gl_pathv[i]))
			continue;
		report_followed(doctor, &followed, time(NULL) - file.st_mtime);
		count++;
	}
	globfree(&found);
	if (!count && processes)
		report(doctor, FINE, "follow", "processes of hbfollow: %zu, without figures in %s",
		       processes, FIGURES);
	else if (!count && !is_loaded() && install_list_units("hbfollow", text, sizeof(text)))
		report(doctor, ADVICE, "follow", "%s: waits for the device, which starts it", text);
	else if (!count && !install_has_unit("hbfollow"))
		report(doctor, FINE, "follow",
		       "hbfollow, of the package hashbelt-follow, is not installed: it keeps belts coherent with Redis or PostgreSQL");
	else if (!count)
		report(doctor, FINE, "follow",
		       "no hbfollow runs: 'systemctl start hbfollow@BELT' keeps a belt coherent with Redis or PostgreSQL");
}

static void check_cgroup(struct doctor *doctor)
{
	if (has_text("/sys/fs/cgroup/cgroup.controllers", "memory") ||
	    has_text("/proc/self/cgroup", "memory"))
		report(doctor, FINE, "cgroup", "memory is charged to the cgroup of a belt's maker");
	else
		report(doctor, ADVICE, "cgroup",
		       "there is no memory controller in /sys/fs/cgroup: only the limits of belts, users and the module hold");
}

/* Distributions keep the options of a kernel in one of these files. */
static void check_kernel(struct doctor *doctor)
{
	char path[sizeof("/lib/modules//config") + sizeof(((struct utsname *)0)->release)];
	struct utsname name;

	uname(&name);
	snprintf(path, sizeof(path), "/boot/config-%s", name.release);
	if (access(path, R_OK))
		snprintf(path, sizeof(path), "/lib/modules/%s/config", name.release);
	if (access(path, R_OK))
		report(doctor, ADVICE, "kernel",
		       "Linux %s: cannot read /boot/config-%s or %s, so options are not checked",
		       name.release, name.release, path);
	else if (!has_text(path, "CONFIG_MEMCG=y"))
		report(doctor, ADVICE, "kernel",
		       "Linux %s has no CONFIG_MEMCG: memory is charged to no cgroup",
		       name.release);
	else
		report(doctor, FINE, "kernel", "Linux %s has the options that hashbelt uses",
		       name.release);
}

static void check_tracing(struct doctor *doctor)
{
	if (!is_loaded())
		return;
	if (!access("/sys/kernel/tracing/events/hashbelt", F_OK))
		report(doctor, FINE, "tracing",
		       "trace points are in /sys/kernel/tracing/events/hashbelt");
	else if (has_text("/sys/kernel/security/lockdown", "[confidentiality]"))
		report(doctor, FINE, "tracing",
		       "the kernel is locked down to confidentiality, so there are no trace points");
	else if (geteuid())
		report(doctor, FINE, "tracing", "only root sees the trace points");
	else if (!access("/sys/kernel/tracing/events", F_OK))
		report(doctor, ADVICE, "tracing",
		       "there are no trace points of hashbelt in /sys/kernel/tracing: this kernel has none of modules");
	else
		report(doctor, ADVICE, "tracing",
		       "there are no trace points of hashbelt in /sys/kernel/tracing: 'mount -t tracefs none /sys/kernel/tracing'");
}

/**
 * cmd_doctor() - hbctl doctor
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_doctor(struct request *request)
{
	static void (* const checks[])(struct doctor *doctor) = {
		check_module, check_node, check_open, check_rule, check_memory, check_belts,
		check_serve, check_follow, check_cgroup, check_kernel, check_tracing,
	};
	struct doctor doctor = { .request = request };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checks); i++)
		checks[i](&doctor);
	if (doctor.worst == WRONG)
		return fail(STATUS_REACH, "%s cannot be used: see the lines with 'wrong'",
			    request->device);
	if (doctor.worst == ADVICE)
		return fail(STATUS_NO, "%s can be used: see the lines with 'advice'",
			    request->device);
	return STATUS_DONE;
}
