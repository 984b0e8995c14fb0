// SPDX-License-Identifier: GPL-2.0
/*
 * editing - two users edit one record, and neither loses what the other wrote.
 *
 *	editing
 *
 * Shows the version number pattern (Martin Fowler's Optimistic Offline Lock): who
 * reads a record gets its version with it, and who saves it names the version that
 * was edited. If somebody was faster the save fails, nothing is changed, and the
 * loser reads again and merges. Nobody holds a lock while thinking.
 *
 * After the two, four processes add to one number in the same way, at once.
 *
 * Relies on: each put makes a new version, larger for each key, also after the record
 * was removed and made anew; HASHBELT_IF_VERSION of put and remove is one step with
 * the look at the version, and fails with ESTALE without a trace.
 */
#include <sys/wait.h>

#include "example.h"

#define BELT		"example-editing"
#define RECORD		"customer:17"
#define TTL_MS		3600000
#define TEXT_MAX	256
#define EDITORS		4
#define EDITS		500	/* of each */

static const char usage[] =
	"usage: editing\n"
	"Two users edit one record, by its version.\n";

/**
 * struct user - somebody with the record on the screen
 * @name:	who
 * @fd:		a descriptor of one's own
 * @version:	the record's, when it was read
 * @text:	what it says, with one's own edits
 */
struct user {
	const char *name;
	int fd;
	__u64 version;
	char text[TEXT_MAX];
};

static void load(struct user *user)
{
	struct hashbelt_item item = {};

	must("get", hashbelt_get(user->fd, RECORD, strlen(RECORD), user->text,
				 TEXT_MAX - 1, &item));
	user->text[item.value_len] = 0;
	user->version = item.version;
	printf("%s reads: %s\n", user->name, user->text);
}

/* Returns false if somebody was faster. */
static bool save(struct user *user)
{
	struct hashbelt_item item = {
		.how = HASHBELT_IF_VERSION, .version = user->version,
	};
	int err = hashbelt_put(user->fd, RECORD, strlen(RECORD), user->text,
			       strlen(user->text), &item);

	if (err != -ESTALE)
		must("put", err);
	printf("%s %s: %s\n", user->name,
	       err ? "cannot save, somebody was faster" : "saves", user->text);
	promise(item.version > user->version, "a version grows with each put");
	if (!err)
		user->version = item.version;
	return !err;
}

/* Returns what remove said. */
static int remove_record(struct user *user)
{
	struct hashbelt_item item = {
		.how = HASHBELT_IF_VERSION, .version = user->version,
	};
	int err = hashbelt_remove(user->fd, RECORD, strlen(RECORD), &item);

	printf("%s %s\n", user->name,
	       !err ? "removes the record" :
	       err == -ESTALE ? "cannot remove it, somebody has changed it" :
	       strerror(-err));
	return err;
}

static void edit(struct user *user, const char *what)
{
	snprintf(user->text + strlen(user->text), TEXT_MAX - strlen(user->text), ", %s",
		 what);
}

/* The text that is there now. */
static bool record_says(struct user *user, const char *text)
{
	struct hashbelt_item item = {};
	char is[TEXT_MAX];

	must("get", hashbelt_get(user->fd, RECORD, strlen(RECORD), is, TEXT_MAX, &item));
	return item.value_len == strlen(text) && !memcmp(is, text, item.value_len);
}

static void two_users(struct user *ann, struct user *bob)
{
	__u64 before;

	must("put", hashbelt_put(ann->fd, RECORD, strlen(RECORD), "Smith", 5, NULL));
	load(ann);
	load(bob);
	edit(ann, "12 Main Street");
	promise(save(ann), "who is first can save");
	edit(bob, "phone 555");
	promise(!save(bob), "who was not first cannot save");
	promise(record_says(bob, "Smith, 12 Main Street"),
		"a save that fails changes nothing");
	load(bob);
	edit(bob, "phone 555");
	promise(save(bob), "who has read again can save");
	promise(record_says(ann, "Smith, 12 Main Street, phone 555"),
		"nobody's edit is lost");

	promise(remove_record(ann) == -ESTALE,
		"who has not seen the last edit cannot remove");
	load(ann);
	before = ann->version;
	promise(!remove_record(ann), "who has seen it can remove");
	promise(!hashbelt_put(ann->fd, RECORD, strlen(RECORD), "Smith", 5, NULL),
		"made anew");
	load(ann);
	promise(ann->version > before, "a version grows across the removal, too");
	promise(!save(bob), "a version of the former life does not fit the new one");
}

/* Adds to the number until each of the edits is saved. */
static void add_up(void)
{
	unsigned int edits = 0;
	struct hashbelt_item item;
	int fd = open_belt(BELT), err;
	__u64 n;

	while (edits < EDITS) {
		item = (struct hashbelt_item){};
		must("get", hashbelt_get(fd, "number", 6, &n, sizeof(n), &item));
		n++;
		item.how = HASHBELT_IF_VERSION;
		err = hashbelt_put(fd, "number", 6, &n, sizeof(n), &item);
		if (err != -ESTALE)
			must("put", err);
		edits += !err;
	}
	hashbelt_close(fd);
}

static void many_editors(int fd)
{
	int i, status, good = 0;
	__u64 n = 0;

	must("put", hashbelt_put(fd, "number", 6, &n, sizeof(n), NULL));
	fflush(stdout);
	for (i = 0; i < EDITORS; i++)
		if (!fork()) {
			add_up();
			_exit(0);
		}
	for (i = 0; i < EDITORS; i++)
		good += wait(&status) > 0 && !status;
	must("get", hashbelt_get(fd, "number", 6, &n, sizeof(n), NULL));
	printf("editors %d edits %d sum %llu\n", good, EDITORS * EDITS, n);
	promise(good == EDITORS && n == EDITORS * EDITS,
		"no edit of many at once is lost");
}

int main(int argc, char **argv)
{
	struct user ann = { .name = "Ann" }, bob = { .name = "Bob" };

	arguments(argc, argv, 0, usage);
	ann.fd = new_belt(BELT, (struct hashbelt_settings){ .ttl_ms = TTL_MS });
	bob.fd = open_belt(BELT);
	two_users(&ann, &bob);
	many_editors(ann.fd);
	must("destroy", hashbelt_destroy(ann.fd, BELT));
	return verdict();
}
