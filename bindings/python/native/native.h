/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hashbelt._native: the frequent calls of the package hashbelt, without ctypes.
 *
 * hashbelt/_keys.py has the same methods for Pythons without this extension, and their
 * documentation. All else of the package is Python for both.
 *
 * The interpreter's lock (GIL) protects all objects. A call of the library that may wait is made
 * without it, by device_attempt(). A get keeps it: the kernel answers a get under RCU, without a
 * lock and without memory, in less time than a thread takes to get the GIL back.
 */
#ifndef HASHBELT_NATIVE_H
#define HASHBELT_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <string.h>

#include <hashbelt/client.h>

#define UNLIKELY(condition)	__builtin_expect(!!(condition), 0)

/**
 * struct state - what the module has in each interpreter
 * @device:	the type of struct device
 * @keys:	the type of struct keys
 * @cached:	the type of struct cached
 * @belt:	hashbelt.BELT
 * @ttl_ms:	makes milliseconds of any time-to-live
 * @check_key:	raises the TypeError of an object that is no key
 * @unreadable:	the value of bytes that are none, in hashbelt.serializer
 *
 * Set by use(), but for the types.
 */
struct state {
	PyObject *device;
	PyObject *keys;
	PyObject *cached;
	PyObject *belt;
	PyObject *ttl_ms;
	PyObject *check_key;
	PyObject *unreadable;
};

/**
 * struct device - the base of hashbelt._device.Device
 * @head:	of each object
 * @handle:	the Handle of the package, which closes @belt when nothing refers to it; or NULL
 * @belt:	the handle of the library, or NULL
 */
struct device {
	PyObject_HEAD
	PyObject *handle;
	struct hashbelt *belt;
};

/**
 * struct keys - the entries of a belt
 * @head:	of each object
 * @state:	of the module, which the type keeps
 * @device:	the device, or NULL before __init__()
 * @dumps:	makes bytes of a value
 * @loads:	makes a value of bytes, or NULL if values are bytes
 * @room:	memory for the values of a batch that no call uses now, or NULL
 */
struct keys {
	PyObject_HEAD
	struct state *state;
	struct device *device;
	PyObject *dumps;
	PyObject *loads;
	char *room;
};

/**
 * struct key - a key
 * @data:	its bytes, which the object has
 * @len:	their number
 */
struct key {
	const char *data;
	Py_ssize_t len;
};

/**
 * struct signature - the arguments of a function
 * @function:	its name
 * @required:	number of those that have no default
 * @positional:	number of those that may be passed by position
 * @names:	of all, and then NULL
 */
struct signature {
	const char *function;
	int required;
	int positional;
	const char *names[9];
};

/* convert.c */
int parse(const struct signature *signature, PyObject *const *args, Py_ssize_t count,
	  PyObject *names, PyObject **found);
int key_of_other(const struct state *state, PyObject *object, struct key *key);
__u64 plain_ms(PyObject *ttl);
int kernel_ttl(const struct state *state, PyObject *ttl, __u64 *ms);

/* The key that an object is. Return: 0, or -1 with an exception. */
static inline int key_of(const struct state *state, PyObject *object, struct key *key)
{
	if (PyUnicode_Check(object)) {
		key->data = PyUnicode_AsUTF8AndSize(object, &key->len);
		return key->data ? 0 : -1;
	}
	return key_of_other(state, object, key);
}

/* device.c */
extern PyType_Spec device_spec;
int device_open(struct device *device);
int device_attempt(struct device *device, int (*run)(struct hashbelt *belt, void *argument),
		   void *argument, int *err);
PyObject *device_fail(struct device *device, int err, int call, const struct key *key);

/* The handle of the library, until the caller gives the GIL away. NULL with an exception. */
static inline struct hashbelt *device_belt(struct device *device)
{
	if (UNLIKELY(!device || !device->belt) && device_open(device))
		return NULL;
	return device->belt;
}

/* find.c */
int find(struct keys *keys, const struct key *key, __u64 *ttl_ms, PyObject **value);
int find_loaded(struct keys *keys, const struct key *key, __u64 least_ms, PyObject **value);
PyObject *load(struct keys *keys, PyObject *data);
PyObject *get_many(PyObject *self, PyObject *names);

/* keys.c */
extern PyType_Spec keys_spec;

/* cached.c */
extern PyType_Spec cached_spec;

/* module.c */
extern struct PyModuleDef native_module;

/* object.c */
void object_dealloc(PyObject *self, inquiry clear);
struct state *state_of(PyTypeObject *type);

#endif /* HASHBELT_NATIVE_H */
