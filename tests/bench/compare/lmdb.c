// SPDX-License-Identifier: GPL-2.0-only
/*
 * LMDB, a database in a file that processes map. It has no deadlines, so nothing can be touched.
 *
 * A get renews the reader's transaction, as a program does that wants the present value. A put is a
 * transaction, or 64 are one. A cache need not outlive its machine, so nothing is synchronised with
 * the file.
 */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare.h"

/* Bytes for an entry, with its share of the pages of the tree. */
#define ROOM(value_size)	(8 * ((value_size) + KEY_SIZE + 64ull))

static MDB_env *environment;
static MDB_dbi database;
static MDB_txn *reader;
static size_t value_size;

static enum work work;
static unsigned int count;
static int results[SLICE];
static char keys[SLICE][KEY_SIZE];
static char values[SLICE][VALUE_MAX];

static void must(const char *what, int err)
{
	if (err)
		die(what, mdb_strerror(err));
}

/* The files are removed at once: the process has them open and mapped. */
static void open_file(size_t bytes)
{
	static const unsigned int flags = MDB_NOSUBDIR | MDB_WRITEMAP | MDB_NOSYNC;
	char directory[] = "/tmp/lmdbXXXXXX", file[64], lock[64];

	if (!mkdtemp(directory))
		die(directory, "cannot be made");
	snprintf(file, sizeof(file), "%s/data", directory);
	snprintf(lock, sizeof(lock), "%s/data-lock", directory);
	must("mdb_env_create", mdb_env_create(&environment));
	must("mdb_env_set_mapsize", mdb_env_set_mapsize(environment, bytes));
	must("mdb_env_open", mdb_env_open(environment, file, flags, 0600));
	unlink(file);
	unlink(lock);
	rmdir(directory);
}

static void open_database(const struct plan *plan)
{
	MDB_txn *writer;

	value_size = plan->value_size;
	open_file((plan->entries + plan->spare) * ROOM(value_size));
	must("mdb_txn_begin", mdb_txn_begin(environment, NULL, 0, &writer));
	must("mdb_dbi_open", mdb_dbi_open(writer, NULL, 0, &database));
	must("mdb_txn_commit", mdb_txn_commit(writer));
	must("mdb_txn_begin", mdb_txn_begin(environment, NULL, MDB_RDONLY, &reader));
	mdb_txn_reset(reader);
}

static bool prepare(enum work new_work, const struct key *new_keys, unsigned int new_count)
{
	if (new_work == TOUCH)
		return false;
	work = new_work;
	count = new_count;
	for (unsigned int i = 0; i < count; i++) {
		memcpy(keys[i], new_keys[i].text, KEY_SIZE);
		prepare_value(values[i], work, new_keys[i].text, value_size);
	}
	return true;
}

/* Reads the entries @begin up to @end in one transaction. */
static void get(unsigned int begin, unsigned int end)
{
	must("mdb_txn_renew", mdb_txn_renew(reader));
	for (unsigned int i = begin; i < end; i++) {
		MDB_val key = { KEY_SIZE, keys[i] }, value;

		results[i] = mdb_get(reader, database, &key, &value);
		if (!results[i])
			memcpy(values[i], value.mv_data, value.mv_size);
	}
	mdb_txn_reset(reader);
}

/* Writes or removes keys: from @begin on, before @end. */
static void change(unsigned int begin, unsigned int end)
{
	MDB_txn *writer;

	must("mdb_txn_begin", mdb_txn_begin(environment, NULL, 0, &writer));
	for (unsigned int i = begin; i < end; i++) {
		MDB_val key = { KEY_SIZE, keys[i] }, value = { value_size, values[i] };

		results[i] = work == REMOVE ? mdb_del(writer, database, &key, NULL) :
					      mdb_put(writer, database, &key, &value, 0);
	}
	must("mdb_txn_commit", mdb_txn_commit(writer));
}

static unsigned int run(void)
{
	unsigned int step = work >= GET_MANY ? count : 1;
	bool reads = work == GET || work == MISS || work == GET_MANY;

	for (unsigned int i = 0; i < count; i += step)
		(reads ? get : change)(i, i + step);
	return count;
}

static void check(void)
{
	int expected = work == MISS ? MDB_NOTFOUND : 0;

	for (unsigned int i = 0; i < count; i++) {
		if (results[i] != expected)
			die("LMDB", mdb_strerror(results[i]));
		if (work == GET || work == GET_MANY)
			check_value("LMDB", values[i], keys[i], value_size);
	}
}

const struct peer lmdb_peer = {
	.name = "lmdb", .open = open_database, .prepare = prepare, .run = run, .check = check,
};
