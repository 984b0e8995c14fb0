// SPDX-License-Identifier: LGPL-2.1-or-later
/* Gets: of one key, and of many in one call. */
#include "native.h"

/* Room on the stack for the value of a get, bytes. A larger value costs a second call. */
#define ROOM		4096

/* Gets of one call: more would not cost less. */
#define BATCH		64

/* Room for each value of a batch, bytes. A larger value costs a call of its own. */
#define BATCH_ROOM	1024

/* The value of bytes, to which it takes the reference. NULL with an exception. */
PyObject *load(struct keys *keys, PyObject *data)
{
	PyObject *value;

	if (!keys->loads || !data)
		return data;
	value = PyObject_CallFunctionObjArgs(keys->loads, data, NULL);
	Py_DECREF(data);
	return value;
}

/**
 * struct get - a get of a large value
 * @key:	the key
 * @room:	room for the value
 * @item:	the item; @value_len: the size of @room, and returned
 */
struct get {
	const struct key *key;
	char *room;
	struct hashbelt_item item;
};

static int run_get(struct hashbelt *belt, void *argument)
{
	struct get *get = argument;

	return hashbelt_get(belt, get->key->data, get->key->len, get->room, get->item.value_len,
			    &get->item);
}

/*
 * Goes on after a get that has failed. Return: 1, and a new reference in @value; 0 if there is no
 * entry; -1 with an exception.
 */
static int find_again(struct keys *keys, const struct key *key, int err,
		      struct hashbelt_item *item, PyObject **value)
{
	struct get get = { .key = key, .item = *item };
	PyObject *room = NULL;

	if (err == -EINTR)
		get.item.value_len = ROOM;
	while (err == -ERANGE || err == -EINTR) {
		Py_XDECREF(room);
		room = PyBytes_FromStringAndSize(NULL, get.item.value_len);
		if (!room)
			return -1;
		get.room = PyBytes_AsString(room);
		if (device_attempt(keys->device, run_get, &get, &err)) {
			Py_DECREF(room);
			return -1;
		}
	}
	*item = get.item;
	*value = NULL;
	if (!err && PyBytes_Size(room) == (Py_ssize_t)item->value_len)
		*value = Py_NewRef(room);
	else if (!err)
		*value = PyBytes_FromStringAndSize(get.room, item->value_len);
	else if (err != -ENOENT)
		device_fail(keys->device, err, HASHBELT_CALL_GET, key);
	Py_XDECREF(room);
	if (err == -ENOENT)
		return 0;
	return *value ? 1 : -1;
}

/**
 * find() - get the bytes of an entry
 * @keys:	the belt
 * @key:	the key
 * @ttl_ms:	returned: the time that the entry has left. NULL if of no interest
 * @value:	returned: the bytes, a new reference
 *
 * Return: 1; 0 if there is no entry; -1 with an exception.
 */
int find(struct keys *keys, const struct key *key, __u64 *ttl_ms, PyObject **value)
{
	struct hashbelt *belt = device_belt(keys->device);
	struct hashbelt_item item = { 0 };
	char room[ROOM];
	int err, found;

	if (UNLIKELY(!belt))
		return -1;
	err = hashbelt_get(belt, key->data, key->len, room, ROOM, &item);
	if (err == -ENOENT)
		return 0;
	if (err) {
		found = find_again(keys, key, err, &item, value);
	} else {
		*value = PyBytes_FromStringAndSize(room, item.value_len);
		found = *value ? 1 : -1;
	}
	if (ttl_ms)
		*ttl_ms = item.ttl_ms;
	return found;
}

/**
 * find_loaded() - get the value of an entry that lives for some time
 * @keys:	the belt
 * @key:	the key
 * @least_ms:	the time that the entry must have left; 0: any
 * @value:	returned: the value, a new reference
 *
 * Return: 1; 0 if there is no such entry, or its bytes are no value; -1 with an exception.
 */
int find_loaded(struct keys *keys, const struct key *key, __u64 least_ms, PyObject **value)
{
	__u64 left;
	int found = find(keys, key, &left, value);

	if (found != 1)
		return found;
	if (UNLIKELY(least_ms && left != HASHBELT_TTL_NEVER && left < least_ms)) {
		Py_DECREF(*value);
		return 0;
	}
	*value = load(keys, *value);
	if (UNLIKELY(!*value)) {
		if (!PyErr_ExceptionMatches(PyExc_Exception))
			return -1;
		PyErr_Clear();
		return 0;
	}
	if (UNLIKELY(*value == keys->state->unreadable)) {
		Py_DECREF(*value);
		return 0;
	}
	return 1;
}

/**
 * struct batch - some gets
 * @items:	the gets
 * @names:	their keys, which the caller's tuple has
 * @count:	their number
 * @done:	the number of those that were tried
 * @room:	room for their values
 */
struct batch {
	struct hashbelt_item items[BATCH];
	PyObject *names[BATCH];
	unsigned int count;
	unsigned int done;
	char *room;
};

static int run_batch(struct hashbelt *belt, void *argument)
{
	struct batch *batch = argument;
	unsigned int done = 0;
	int err = hashbelt_batch(belt, batch->items + batch->done, batch->count - batch->done,
				 &done);

	batch->done += done;
	return err;
}

static int prepare(struct keys *keys, struct batch *batch, PyObject *names, Py_ssize_t first)
{
	struct hashbelt_item *item = batch->items;
	char *room = batch->room;
	struct key key;
	unsigned int i;

	for (i = 0; i < batch->count; i++, item++, room += BATCH_ROOM) {
		batch->names[i] = PyTuple_GetItem(names, first + i);
		if (key_of(keys->state, batch->names[i], &key))
			return -1;
		if (!key.len || key.len > HASHBELT_KEY_MAX) {
			device_fail(keys->device, -E2BIG, HASHBELT_CALL_GET, NULL);
			return -1;
		}
		*item = (struct hashbelt_item){
			.op = HASHBELT_OP_GET,
			.key = (uintptr_t)key.data, .key_len = key.len,
			.value = (uintptr_t)room, .value_len = BATCH_ROOM,
		};
	}
	return 0;
}

/*
 * The bytes of a get of a batch. Return: 1, and a new reference in @value; 0 if there is no entry;
 * -1 with an exception.
 */
static int take(struct keys *keys, PyObject *name, const struct hashbelt_item *item,
		PyObject **value)
{
	struct key key;

	if (!item->result) {
		*value = PyBytes_FromStringAndSize((const char *)(uintptr_t)item->value,
						   item->value_len);
		return *value ? 1 : -1;
	}
	if (item->result == -ENOENT)
		return 0;
	if (item->result != -ERANGE) {
		device_fail(keys->device, item->result, HASHBELT_CALL_GET, NULL);
		return -1;
	}
	return key_of(keys->state, name, &key) ? -1 : find(keys, &key, NULL, value);
}

/* Puts the values of a batch into a dict. */
static int take_all(struct keys *keys, struct batch *batch, PyObject *values)
{
	PyObject *name, *value;
	unsigned int i;
	int found, err;

	for (i = 0; i < batch->count; i++) {
		name = batch->names[i];
		found = take(keys, name, &batch->items[i], &value);
		if (found < 0)
			return -1;
		if (!found)
			continue;
		value = load(keys, value);
		if (!value)
			return -1;
		err = PyDict_SetItem(values, name, value);
		Py_DECREF(value);
		if (err)
			return -1;
	}
	return 0;
}

static int get_batch(struct keys *keys, struct batch *batch, PyObject *names, Py_ssize_t first,
		     PyObject *values)
{
	int err;

	batch->done = 0;
	if (!device_belt(keys->device) || prepare(keys, batch, names, first) ||
	    device_attempt(keys->device, run_batch, batch, &err))
		return -1;
	if (err) {
		device_fail(keys->device, err, HASHBELT_CALL_BATCH, NULL);
		return -1;
	}
	return take_all(keys, batch, values);
}

/* Belt.get_many(). The tuple keeps the keys while other threads run. */
PyObject *get_many(PyObject *self, PyObject *iterable)
{
	PyObject *names = PySequence_Tuple(iterable), *values = PyDict_New();
	struct keys *keys = (struct keys *)self;
	struct batch batch;
	Py_ssize_t first, count = names ? PyTuple_Size(names) : 0;
	int err = !names || !values;

	/* A call of another thread, or of loads(), gets memory of its own. */
	batch.room = keys->room;
	keys->room = NULL;
	if (!err && !batch.room) {
		batch.room = PyMem_Malloc(BATCH * BATCH_ROOM);
		err = !batch.room;
		if (err)
			PyErr_NoMemory();
	}
	for (first = 0; !err && first < count; first += BATCH) {
		batch.count = count - first < BATCH ? count - first : BATCH;
		err = get_batch(keys, &batch, names, first, values);
	}
	if (keys->room)
		PyMem_Free(batch.room);
	else
		keys->room = batch.room;
	Py_XDECREF(names);
	if (err)
		Py_CLEAR(values);
	return values;
}
