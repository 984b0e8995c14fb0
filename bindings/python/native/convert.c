// SPDX-License-Identifier: LGPL-2.1-or-later
/* Conversions of arguments: their places, keys, times. */
#include "native.h"

#define MS		1000
#define SECONDS_MAX	(HASHBELT_TTL_MAX_MS / MS)

static int refuse(const struct signature *signature, const char *problem, PyObject *name)
{
	PyErr_Format(PyExc_TypeError, "%s(): %s '%U'", signature->function, problem, name);
	return -1;
}

static int place_of(const struct signature *signature, PyObject *name)
{
	int i;

	for (i = 0; signature->names[i]; i++)
		if (!PyUnicode_CompareWithASCIIString(name, signature->names[i]))
			return i;
	return -1;
}

/* Finds the arguments that were passed by name, behind the others. */
static int parse_names(const struct signature *signature, PyObject *const *args, PyObject *names,
		       PyObject **found)
{
	Py_ssize_t count = PyTuple_Size(names), i;
	PyObject *name;
	int place;

	for (i = 0; i < count; i++) {
		name = PyTuple_GetItem(names, i);
		place = place_of(signature, name);
		if (place < 0)
			return refuse(signature, "there is no argument", name);
		if (found[place])
			return refuse(signature, "there are two values of the argument", name);
		found[place] = args[i];
	}
	return 0;
}

/**
 * parse() - find the arguments of a call
 * @signature:	of the function
 * @args:	as METH_FASTCALL | METH_KEYWORDS passes them
 * @count:	of those that are passed by position
 * @names:	of the others, or NULL
 * @found:	in: NULLs. Returned: borrowed references to those that were passed
 *
 * Return: 0, or -1 with an exception.
 */
int parse(const struct signature *signature, PyObject *const *args, Py_ssize_t count,
	  PyObject *names, PyObject **found)
{
	Py_ssize_t i;

	if (count > signature->positional) {
		PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments by position",
			     signature->function, signature->positional);
		return -1;
	}
	for (i = 0; i < count; i++)
		found[i] = args[i];
	if (names && parse_names(signature, args + count, names, found))
		return -1;
	for (i = 0; i < signature->required; i++) {
		if (found[i])
			continue;
		PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", signature->function,
			     signature->names[i]);
		return -1;
	}
	return 0;
}

/* The key that an object that is no str is. Return: 0, or -1 with an exception. */
int key_of_other(const struct state *state, PyObject *object, struct key *key)
{
	char *data;

	if (PyBytes_Check(object)) {
		PyBytes_AsStringAndSize(object, &data, &key->len);
		key->data = data;
		return 0;
	}
	object = PyObject_CallFunctionObjArgs(state->check_key, object, NULL);
	if (object)
		PyErr_SetString(PyExc_TypeError, "a key is str or bytes");
	Py_XDECREF(object);
	return -1;
}

/* The milliseconds of an int, or of a float that needs no rounding; 0: it is another object. */
__u64 plain_ms(PyObject *ttl)
{
	long long seconds;
	double ms;
	int overflow;

	if (PyLong_CheckExact(ttl)) {
		seconds = PyLong_AsLongLongAndOverflow(ttl, &overflow);
		return seconds > 0 && seconds <= (long long)SECONDS_MAX ? seconds * MS : 0;
	}
	if (!PyFloat_CheckExact(ttl))
		return 0;
	ms = PyFloat_AsDouble(ttl) * MS;
	return ms >= 1 && ms <= SECONDS_MAX && ms == (double)(__u64)ms ? (__u64)ms : 0;
}

/**
 * kernel_ttl() - the time-to-live for the kernel
 * @state:	of the module
 * @ttl:	the argument of a caller, or NULL for the belt's own
 * @ms:		returned
 *
 * Return: 0, or -1 with an exception.
 */
int kernel_ttl(const struct state *state, PyObject *ttl, __u64 *ms)
{
	PyObject *made;

	*ms = HASHBELT_TTL_BELT;
	if (!ttl || ttl == state->belt)
		return 0;
	*ms = HASHBELT_TTL_NEVER;
	if (ttl == Py_None)
		return 0;
	*ms = plain_ms(ttl);
	if (*ms)
		return 0;
	made = PyObject_CallFunctionObjArgs(state->ttl_ms, ttl, NULL);
	if (!made)
		return -1;
	*ms = PyLong_AsUnsignedLongLong(made);
	Py_DECREF(made);
	return PyErr_Occurred() ? -1 : 0;
}
