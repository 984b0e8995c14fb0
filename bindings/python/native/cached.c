// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls of a cached function that are hits: the key is made as hashbelt._calls makes it, of parts
 * that were made when the function was decorated. All other calls are left to Python.
 */
#include "native.h"

/* A longer key has a hash, which Python makes. */
#define LONGEST		256

/* A function with more parameters is left to Python, and so are deeper tuples. */
#define PARAMETERS	16
#define DEPTH		8

/**
 * struct cached - a cached function
 * @head:	of each object
 * @state:	of the module, which the type keeps
 * @keys:	the belt, or NULL: all calls are left to Python
 * @beginning:	the key up to its first argument
 * @names:	of the parameters
 * @befores:	the text of the key before the value of each
 * @defaults:	the text of the key for each that is not passed: None if it has to be, and no bytes
 *		if the key has nothing of it
 * @positional:	the number of those that may be passed by position
 * @least_ms:	the time that an entry has left that needs no refresh
 */
struct cached {
	PyObject_HEAD
	struct state *state;
	struct keys *keys;
	PyObject *beginning;
	PyObject *names;
	PyObject *befores;
	PyObject *defaults;
	Py_ssize_t positional;
	__u64 least_ms;
};

/**
 * struct text - the text of a key
 * @len:	its length so far, bytes
 * @data:	the bytes
 */
struct text {
	size_t len;
	char data[LONGEST];
};

/* Adds bytes. Return: whether there is room. */
static int append(struct text *text, const char *data, size_t len)
{
	if (len > LONGEST - text->len)
		return 0;
	memcpy(text->data + text->len, data, len);
	text->len += len;
	return 1;
}

static int append_bytes(struct text *text, PyObject *bytes)
{
	return append(text, PyBytes_AsString(bytes), PyBytes_Size(bytes));
}

/* Whether repr() gives two values the same text only if they are equal: as in hashbelt._calls. */
static int is_plain(PyObject *value, int depth)
{
	Py_ssize_t i;

	if (PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyBytes_CheckExact(value) ||
	    PyFloat_CheckExact(value) || PyBool_Check(value) || value == Py_None)
		return 1;
	if (!PyTuple_CheckExact(value) || depth == DEPTH)
		return 0;
	for (i = 0; i < PyTuple_Size(value); i++)
		if (!is_plain(PyTuple_GetItem(value, i), depth + 1))
			return 0;
	return 1;
}

/* Adds what repr() returns of a value. Return: 1; 0 to leave it to Python; -1 with an exception. */
static int append_value(struct text *text, PyObject *value)
{
	Py_ssize_t len;
	const char *data;
	PyObject *shown;
	int done = 0;

	if (!is_plain(value, 0))
		return 0;
	shown = PyObject_Repr(value);
	if (!shown)
		return -1;
	data = PyUnicode_AsUTF8AndSize(shown, &len);
	if (data)
		done = append(text, data, len);
	else
		PyErr_Clear();
	Py_DECREF(shown);
	return done;
}

static Py_ssize_t parameter_of(const struct cached *cached, PyObject *name)
{
	Py_ssize_t count = PyTuple_Size(cached->names), i;

	for (i = 0; i < count; i++)
		if (PyTuple_GetItem(cached->names, i) == name)
			return i;
	for (i = 0; i < count; i++)
		if (!PyUnicode_Compare(PyTuple_GetItem(cached->names, i), name))
			return i;
	return -1;
}

/* Finds the argument of each parameter, a borrowed reference. Return: 0 to leave it to Python. */
static int find_arguments(const struct cached *cached, PyObject *args, PyObject *keywords,
			  PyObject **found)
{
	Py_ssize_t count = PyTuple_Size(args), at = 0, i;
	PyObject *name, *value;

	if (count > cached->positional)
		return 0;
	for (i = 0; i < count; i++)
		found[i] = PyTuple_GetItem(args, i);
	while (keywords && PyDict_Next(keywords, &at, &name, &value)) {
		i = parameter_of(cached, name);
		if (i < 0 || found[i])
			return 0;
		found[i] = value;
	}
	return 1;
}

/* Adds a parameter with its value. Return: 1; 0 to leave it to Python; -1 with an exception. */
static int append_parameter(const struct cached *cached, struct text *text, Py_ssize_t i,
			    PyObject *value)
{
	int done;

	if (!append_bytes(text, PyTuple_GetItem(cached->befores, i)))
		return 0;
	done = append_value(text, value);
	return done == 1 ? append(text, ")", 1) : done;
}

/* Makes the key of a call. Return: 1; 0 to leave it to Python; -1 with an exception. */
static int make_key(const struct cached *cached, PyObject *args, PyObject *keywords,
		    struct text *text)
{
	Py_ssize_t count = PyTuple_Size(cached->names), i;
	PyObject *found[PARAMETERS] = { NULL }, *other;
	int done, parts = 0;

	text->len = 0;
	if (!find_arguments(cached, args, keywords, found) ||
	    !append_bytes(text, cached->beginning))
		return 0;
	for (i = 0; i < count; i++) {
		other = PyTuple_GetItem(cached->defaults, i);
		if (!found[i] && other == Py_None)
			return 0;
		if (!found[i] && !PyBytes_Size(other))
			continue;
		if (parts++ && !append(text, ", ", 2))
			return 0;
		done = found[i] ? append_parameter(cached, text, i, found[i]) :
				  append_bytes(text, other);
		if (done != 1)
			return done;
	}
	return parts == 1 ? append(text, ",)", 2) : append(text, ")", 1);
}

/* A call that is no hit, and whose key was made. */
static PyObject *missed(PyObject *self, const struct text *text, PyObject *args, PyObject *keywords)
{
	PyObject *none = NULL, *value;

	if (!keywords) {
		none = PyDict_New();
		if (!none)
			return NULL;
		keywords = none;
	}
	value = PyObject_CallMethod(self, "_missed", "y#OO", text->data, (Py_ssize_t)text->len,
				    args, keywords);
	Py_XDECREF(none);
	return value;
}

static PyObject *cached_call(PyObject *self, PyObject *args, PyObject *keywords)
{
	struct cached *cached = (struct cached *)self;
	PyObject *function, *value;
	struct text text;
	struct key key;
	int done = 0;

	if (cached->keys)
		done = make_key(cached, args, keywords, &text);
	if (done < 0)
		return NULL;
	if (done) {
		key.data = text.data;
		key.len = text.len;
		done = find_loaded(cached->keys, &key, cached->least_ms, &value);
		if (done < 0)
			return NULL;
		return done ? value : missed(self, &text, args, keywords);
	}
	function = PyObject_GetAttrString(self, "_answer");
	if (!function)
		return NULL;
	value = PyObject_Call(function, args, keywords);
	Py_DECREF(function);
	return value;
}

static int are_bytes(PyObject *tuple, int or_none)
{
	PyObject *part;
	Py_ssize_t i;

	for (i = 0; i < PyTuple_Size(tuple); i++) {
		part = PyTuple_GetItem(tuple, i);
		if (!PyBytes_CheckExact(part) && !(or_none && part == Py_None))
			return 0;
	}
	return 1;
}

static int are_names(PyObject *tuple)
{
	Py_ssize_t i;

	for (i = 0; i < PyTuple_Size(tuple); i++)
		if (!PyUnicode_Check(PyTuple_GetItem(tuple, i)))
			return 0;
	return 1;
}

static PyObject *cached_begin(PyObject *self, PyObject *args)
{
	PyObject *keys, *beginning, *names, *befores, *defaults;
	struct cached *cached = (struct cached *)self;
	unsigned long long least_ms;
	Py_ssize_t positional, count;

	if (!PyArg_ParseTuple(args, "O!SO!O!O!nK:_begin", cached->state->keys, &keys, &beginning,
			      &PyTuple_Type, &names, &PyTuple_Type, &befores, &PyTuple_Type,
			      &defaults, &positional, &least_ms))
		return NULL;
	count = PyTuple_Size(names);
	if (count > PARAMETERS)
		return Py_NewRef(Py_None);
	if (cached->keys || PyTuple_Size(befores) != count || PyTuple_Size(defaults) != count ||
	    positional > count || !are_names(names) || !are_bytes(befores, 0) ||
	    !are_bytes(defaults, 1)) {
		PyErr_SetString(PyExc_TypeError, "_begin() takes parameters, and only once");
		return NULL;
	}
	cached->beginning = Py_NewRef(beginning);
	cached->names = Py_NewRef(names);
	cached->befores = Py_NewRef(befores);
	cached->defaults = Py_NewRef(defaults);
	cached->positional = positional;
	cached->least_ms = least_ms;
	cached->keys = (struct keys *)Py_NewRef(keys);
	return Py_NewRef(Py_None);
}

static PyObject *cached_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
			    PyObject *Py_UNUSED(names))
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct cached *cached = (struct cached *)allocate(type, 0);

	if (cached)
		cached->state = state_of(type);
	return (PyObject *)cached;
}

static int cached_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct cached *cached = (struct cached *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(cached->keys);
	Py_VISIT(cached->beginning);
	Py_VISIT(cached->names);
	Py_VISIT(cached->befores);
	Py_VISIT(cached->defaults);
	return 0;
}

static int cached_clear(PyObject *self)
{
	struct cached *cached = (struct cached *)self;

	Py_CLEAR(cached->keys);
	Py_CLEAR(cached->beginning);
	Py_CLEAR(cached->names);
	Py_CLEAR(cached->befores);
	Py_CLEAR(cached->defaults);
	return 0;
}

static void cached_dealloc(PyObject *self)
{
	object_dealloc(self, cached_clear);
}

static PyMethodDef cached_methods[] = {
	{ "_begin", cached_begin, METH_VARARGS,
	  "Answer hits with the parts of a key: see struct cached." },
	{ 0 },
};

static PyType_Slot cached_slots[] = {
	{ Py_tp_doc, "A cached function: see hashbelt.Cached." },
	{ Py_tp_methods, cached_methods },
	{ Py_tp_call, cached_call },
	{ Py_tp_new, cached_new },
	{ Py_tp_traverse, cached_traverse },
	{ Py_tp_clear, cached_clear },
	{ Py_tp_dealloc, cached_dealloc },
	{ 0 },
};

PyType_Spec cached_spec = {
	.name = "hashbelt._native.CachedBase",
	.basicsize = sizeof(struct cached),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = cached_slots,
};
