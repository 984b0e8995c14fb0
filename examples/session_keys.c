// SPDX-License-Identifier: GPL-2.0-only
/*
 * session_keys - the end of each session is recorded exactly once, despite crashes.
 *
 *	session_keys [FILE]
 *
 * Shows William Grosso's updating hashbelt, with its simple handler. Get and put bring
 * a session key to the front. So a session ends when it has not been used for 30
 * minutes, or when its user logs out. Each end becomes exactly one line of FILE
 * (ends.log, which is overwritten), though the recorder that writes the lines may be
 * killed at any moment.
 *
 * The recorder reads in acknowledging mode: events that a killed recorder has read and
 * not acknowledged are read by the next one, with the same sequence numbers. The
 * recorder writes the line first and acknowledges the event then. If a recorder was
 * killed between the two, the next one finds the sequence number in the file, and does
 * not write the line again. It cuts off an incomplete last line.
 *
 * Relies on: a get refreshes on a belt with HASHBELT_POLICY_UPDATING; each entry that
 * expires or is removed is one event; an event belongs to its reader until it is
 * acknowledged or the reader's descriptor is closed, which the kernel does for a
 * process that is killed; sequence numbers have no gaps, and an event keeps its own.
 */
#include <signal.h>
#include <sys/wait.h>

#include "example.h"

#define BELT		"example-session-keys"
#define TTL_MIN		30
#define BUCKETS		7
#define USERS		8
#define END_MIN		120

static const char usage[] =
	"usage: session_keys [FILE]\n"
	"Records the ends of sessions in FILE (ends.log), which is overwritten.\n";

/* The place at which a recorder stops itself, so that the parent kills it there. */
enum death {
	AFTER_READ,		/* events are read, and no line is written */
	IN_A_LINE,		/* half a line is written */
	AFTER_LINE,		/* a line is written, and its event not acknowledged */
	NEVER,
};

/**
 * struct recorder - the process that records the ends of sessions
 * @belt:	the belt
 * @file:	FILE
 * @last:	sequence number of the last line in FILE
 * @lines:	number of lines that this recorder has written
 * @again:	number of events that it read although their lines were in FILE
 * @death:	where it is killed
 */
struct recorder {
	struct hashbelt *belt;
	FILE *file;
	__u64 last;
	unsigned int lines;
	unsigned int again;
	enum death death;
};

/* Stops the recorder, if @here is the place where it is to be killed. */
static void may_die(struct recorder *recorder, enum death here)
{
	if (recorder->death != here)
		return;
	printf("recorder: %u lines written, %u were there, killed %s\n", recorder->lines,
	       recorder->again,
	       here == AFTER_READ ? "after a read" :
	       here == IN_A_LINE ? "in the middle of a line" :
	       "before an acknowledgment");
	fflush(stdout);
	raise(SIGSTOP);
}

/* Finds the last complete line, and cuts off an incomplete one after it. */
static void open_file(struct recorder *recorder, const char *path)
{
	char line[128];
	long end = 0;

	recorder->file = fopen(path, "r+");
	if (!recorder->file)
		die(path, -errno);
	while (fgets(line, sizeof(line), recorder->file) && strchr(line, '\n')) {
		recorder->last = strtoull(line, NULL, 10);
		end = ftell(recorder->file);
	}
	if (ftruncate(fileno(recorder->file), end) ||
	    fseek(recorder->file, end, SEEK_SET))
		die(path, -errno);
}

/* Writes a line. It is on the disk when this returns. */
static void write_line(struct recorder *recorder, const struct hashbelt_event *event)
{
	bool half = recorder->death == IN_A_LINE && recorder->lines == 1;

	fprintf(recorder->file, "%llu %.*s", event->sequence, (int)event->key_len,
		(const char *)hashbelt_event_key(event));
	if (half) {
		fflush(recorder->file);
		may_die(recorder, IN_A_LINE);
	}
	fprintf(recorder->file, " %s\n",
		event->reason == HASHBELT_EXPIRED ? "timed out" : "logged out");
	if (fflush(recorder->file) || fsync(fileno(recorder->file)))
		die("writing", -errno);
	recorder->last = event->sequence;
	recorder->lines++;
}

static void record(const struct hashbelt_event *event, void *arg)
{
	struct recorder *recorder = arg;

	may_die(recorder, AFTER_READ);
	if (event->sequence <= recorder->last) {
		recorder->again++;
	} else {
		write_line(recorder, event);
		if (recorder->lines == 2)
			may_die(recorder, AFTER_LINE);
	}
	must("acknowledge", hashbelt_ack(recorder->belt, event->sequence));
}

static int run_recorder(const char *path, enum death death)
{
	struct recorder recorder = { .belt = open_belt(BELT), .death = death };

	must("watch", hashbelt_watch(recorder.belt, HASHBELT_WATCH_ACK));
	open_file(&recorder, path);
	read_events(recorder.belt, record, &recorder);
	printf("recorder: %u lines written, %u were there, done\n", recorder.lines,
	       recorder.again);
	return verdict();
}

/* Starts a recorder, and kills it where it stops. Return: true if it was killed. */
static bool start_recorder(const char *path, enum death death)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (!child)
		_exit(run_recorder(path, death));
	if (waitpid(child, &status, WUNTRACED) != child)
		die("recorder", -errno);
	if (WIFSTOPPED(status)) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	promise(WIFSIGNALED(status) || !WEXITSTATUS(status),
		"a recorder that is not killed exits with 0");
	return WIFSIGNALED(status);
}

/* User i uses its session every 10 minutes until minute 10 * i; the last user logs out. */
static void use_sessions(struct hashbelt *belt)
{
	unsigned int minute, i;
	char key[32], user[32];
	int err;

	for (minute = 0; minute <= END_MIN; minute++) {
		for (i = 0; i < USERS; i++) {
			snprintf(key, sizeof(key), "session-%u", i);
			if (!minute) {
				must("put",
				     hashbelt_put(belt, key, strlen(key), "user", 4, NULL));
			} else if (minute % 10 == 0 && minute <= 10 * i) {
				err = hashbelt_get(belt, key, strlen(key), user,
						   sizeof(user), NULL);
				promise(!err, "a session that is used every 10 minutes lives on");
			}
		}
		if (minute == 75) {
			must("remove", hashbelt_remove(belt, key, strlen(key), NULL));
			printf("minute %u: %s logs out\n", minute, key);
		}
		must("advance", hashbelt_advance(belt, 60000));
		if (minute % 20 == 0)
			printf("minute %u: %llu sessions\n", minute, info_of(belt).entries);
	}
	promise(!info_of(belt).entries, "a session that is no longer used ends");
}

/* Return: the number of lines; they must be numbered from 1 on. */
static unsigned int check_file(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int lines = 0, ends[USERS] = {}, user, i;
	unsigned long long sequence;
	char line[128];

	if (!file)
		die(path, -errno);
	while (fgets(line, sizeof(line), file)) {
		lines++;
		printf("%s: %s", path, line);
		promise(sscanf(line, "%llu session-%u ", &sequence, &user) == 2 &&
			sequence == lines && user < USERS,
			"the ends of sessions are in order, without gaps");
		ends[user % USERS]++;
	}
	fclose(file);
	for (i = 0; i < USERS; i++)
		promise(ends[i] == 1, "the end of each session is recorded exactly once");
	return lines;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "ends.log";
	unsigned int killed = 0, lines;
	enum death death;
	FILE *file;
	struct hashbelt *belt;

	arguments(argc, argv, 1, usage);
	file = fopen(path, "w");
	if (!file || fclose(file))
		die(path, -errno);
	belt = new_belt(BELT, (struct hashbelt_settings){
		.ttl_ms = TTL_MIN * 60000,
		.buckets = BUCKETS,
		.policy = HASHBELT_POLICY_UPDATING,
		.handler = HASHBELT_NOTIFY,
		.reasons = HASHBELT_REPORT(HASHBELT_EXPIRED) |
			   HASHBELT_REPORT(HASHBELT_REMOVED),
	});
	use_sessions(belt);
	for (death = AFTER_READ; death <= NEVER; death++)
		killed += start_recorder(path, death);
	promise(killed == NEVER, "each of the first three recorders is killed");
	promise(!info_of(belt).queued && !info_of(belt).in_flight,
		"the event of each end is acknowledged");
	lines = check_file(path);
	printf("sessions %u killed %u recorded %u\n", USERS, killed, lines);
	must("destroy", hashbelt_destroy(belt, BELT));
	return verdict();
}
