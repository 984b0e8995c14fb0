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

static void open_database(void)
{
	MDB_txn *writer;

	open_file((plan.entries + plan.spare) * ROOM(plan.value_size));
	must("mdb_txn_begin", mdb_txn_begin(environment, NULL, 0, &writer));
	must("mdb_dbi_open", mdb_dbi_open(writer, NULL, 0, &database));
	must("mdb_txn_commit", mdb_txn_commit(writer));
	must("mdb_txn_begin", mdb_txn_begin(environment, NULL, MDB_RDONLY, &reader));
	mdb_txn_reset(reader);
}

static bool prepare(void)
{
	return calls.work != TOUCH;
}

/* Reads the entries @begin up to @end in one transaction. */
static void get(unsigned int begin, unsigned int end)
{
	must("mdb_txn_renew", mdb_txn_renew(reader));
	for (unsigned int i = begin; i < end; i++) {
		MDB_val key = { KEY_SIZE, calls.keys[i].text }, value;

		calls.results[i] = mdb_get(reader, database, &key, &value);
		if (!calls.results[i])
			memcpy(calls.values[i], value.mv_data, value.mv_size);
	}
	mdb_txn_reset(reader);
}

/* Writes or removes keys: from @begin on, before @end. */
static void change(unsigned int begin, unsigned int end)
{
	MDB_txn *writer;

	must("mdb_txn_begin", mdb_txn_begin(environment, NULL, 0, &writer));
	for (unsigned int i = begin; i < end; i++) {
		MDB_val key = { KEY_SIZE, calls.keys[i].text };
		MDB_val value = { plan.value_size, calls.values[i] };

		calls.results[i] = calls.work == REMOVE ?
				   mdb_del(writer, database, &key, NULL) :
				   mdb_put(writer, database, &key, &value, 0);
	}
	must("mdb_txn_commit", mdb_txn_commit(writer));
}

static unsigned int run(void)
{
	unsigned int step = calls.work >= GET_MANY ? calls.count : 1;
	bool reads = calls.work == GET || calls.work == MISS || calls.work == GET_MANY;

	for (unsigned int i = 0; i < calls.count; i += step)
		(reads ? get : change)(i, i + step);
	return calls.count;
}

const struct peer lmdb_peer = {
	.name = "lmdb", .absent = MDB_NOTFOUND, .open = open_database, .prepare = prepare,
	.run = run,
};
