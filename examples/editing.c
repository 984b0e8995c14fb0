// SPDX-License-Identifier: GPL-2.0-only
/*
 * editing - two users edit one record, and no edit is lost.
 *
 *	editing
 *
 * Shows the version number pattern (Martin Fowler's Optimistic Offline Lock). A get
 * returns the record with its version, and a save names the version that was edited.
 * If another user saved in the meantime, the save fails and changes nothing; the user
 * reads again and merges. No lock is held while a user edits.
 *
 * Then four processes add to one number in the same way, at once.
 *
 * Relies on: each put makes a new version, and the versions of a key grow, also after
 * the record was removed and put again; HASHBELT_IF_VERSION of put and remove compares
 * the version and acts in one step, or fails with ESTALE and changes nothing.
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
 * struct user - a user that edits the record
 * @name:	the user's name
 * @belt:	the user's own handle
 * @version:	version of the record that the user read
 * @text:	the record's text, with the user's edits
 */
struct user {
	const char *name;
	struct hashbelt *belt;
	__u64 version;
	char text[TEXT_MAX];
};

static void load(struct user *user)
{
	struct hashbelt_item item = {};

	must("get", hashbelt_get(user->belt, RECORD, strlen(RECORD), user->text,
				 TEXT_MAX - 1, &item));
	user->text[item.value_len] = 0;
	user->version = item.version;
	printf("%s reads: %s\n", user->name, user->text);
}

/* Return: false if another user saved in the meantime. */
static bool save(struct user *user)
{
	struct hashbelt_item item = {
		.how = HASHBELT_IF_VERSION, .version = user->version,
	};
	int err = hashbelt_put(user->belt, RECORD, strlen(RECORD), user->text,
			       strlen(user->text), &item);

	if (err != -ESTALE)
		must("put", err);
	printf("%s %s: %s\n", user->name,
	       err ? "cannot save, another user was faster" : "saves", user->text);
	promise(item.version > user->version, "a version grows with each put");
	if (!err)
		user->version = item.version;
	return !err;
}

/* Return: the result of hashbelt_remove(). */
static int remove_record(struct user *user)
{
	struct hashbelt_item item = {
		.how = HASHBELT_IF_VERSION, .version = user->version,
	};
	int err = hashbelt_remove(user->belt, RECORD, strlen(RECORD), &item);

	printf("%s %s\n", user->name,
	       !err ? "removes the record" :
	       err == -ESTALE ? "cannot remove it, another user has changed it" :
	       strerror(-err));
	return err;
}

static void edit(struct user *user, const char *what)
{
	snprintf(user->text + strlen(user->text), TEXT_MAX - strlen(user->text), ", %s",
		 what);
}

static bool record_says(struct user *user, const char *text)
{
	struct hashbelt_item item = {};
	char is[TEXT_MAX];

	must("get", hashbelt_get(user->belt, RECORD, strlen(RECORD), is, TEXT_MAX, &item));
	return item.value_len == strlen(text) && !memcmp(is, text, item.value_len);
}

static void two_users(struct user *ann, struct user *bob)
{
	__u64 before;

	must("put", hashbelt_put(ann->belt, RECORD, strlen(RECORD), "Smith", 5, NULL));
	load(ann);
	load(bob);
	edit(ann, "12 Main Street");
	promise(save(ann), "a save with the present version succeeds");
	edit(bob, "phone 555");
	promise(!save(bob), "a save with an old version fails");
	promise(record_says(bob, "Smith, 12 Main Street"),
		"a save that fails changes nothing");
	load(bob);
	edit(bob, "phone 555");
	promise(save(bob), "a save after reading again succeeds");
	promise(record_says(ann, "Smith, 12 Main Street, phone 555"),
		"the record has the edits of both users");

	promise(remove_record(ann) == -ESTALE, "a remove with an old version fails");
	load(ann);
	before = ann->version;
	promise(!remove_record(ann), "a remove with the present version succeeds");
	promise(!hashbelt_put(ann->belt, RECORD, strlen(RECORD), "Smith", 5, NULL),
		"a removed record can be put again");
	load(ann);
	promise(ann->version > before, "versions grow across a removal");
	promise(!save(bob), "a save with a version from before a removal fails");
}

/* Adds 1 to the number EDITS times, and tries each addition until it is saved. */
static void add_up(void)
{
	unsigned int edits = 0;
	struct hashbelt_item item;
	struct hashbelt *belt = open_belt(BELT);
	int err;
	__u64 n;

	while (edits < EDITS) {
		item = (struct hashbelt_item){};
		must("get", hashbelt_get(belt, "number", 6, &n, sizeof(n), &item));
		n++;
		item.how = HASHBELT_IF_VERSION;
		err = hashbelt_put(belt, "number", 6, &n, sizeof(n), &item);
		if (err != -ESTALE)
			must("put", err);
		edits += !err;
	}
	hashbelt_close(belt);
}

static void many_editors(struct hashbelt *belt)
{
	int i, status, good = 0;
	__u64 n = 0;

	must("put", hashbelt_put(belt, "number", 6, &n, sizeof(n), NULL));
	fflush(stdout);
	for (i = 0; i < EDITORS; i++)
		if (!fork()) {
			add_up();
			_exit(0);
		}
	for (i = 0; i < EDITORS; i++)
		good += wait(&status) > 0 && !status;
	must("get", hashbelt_get(belt, "number", 6, &n, sizeof(n), NULL));
	printf("editors %d edits %d sum %llu\n", good, EDITORS * EDITS, n);
	promise(good == EDITORS && n == EDITORS * EDITS,
		"no edit of four concurrent editors is lost");
}

int main(int argc, char **argv)
{
	struct user ann = { .name = "Ann" }, bob = { .name = "Bob" };

	arguments(argc, argv, 0, usage);
	ann.belt = new_belt(BELT, (struct hashbelt_settings){ .ttl_ms = TTL_MS });
	bob.belt = open_belt(BELT);
	two_users(&ann, &bob);
	many_editors(ann.belt);
	must("destroy", hashbelt_destroy(ann.belt, BELT));
	return verdict();
}
