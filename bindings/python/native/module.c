// SPDX-License-Identifier: LGPL-2.1-or-later
/* The module hashbelt._native, of which each interpreter has its own. */
#include "native.h"

/*
 * Slots since Python 3.12 and 3.13. An older one takes no slot that it does not know. Without a GIL
 * this module does not run: no object has a lock of its own.
 */
#define MULTIPLE_INTERPRETERS	3
#define PER_INTERPRETER_GIL	((void *)2)
#define GIL			4
#define GIL_USED		((void *)0)
#define SINCE(minor)		(0x03000000ul | (minor) << 16)

static void set(PyObject **place, PyObject *value)
{
	PyObject *before = *place;

	*place = Py_NewRef(value);
	Py_XDECREF(before);
}

static PyObject *use(PyObject *module, PyObject *args)
{
	struct state *state = PyModule_GetState(module);
	PyObject *belt, *ttl_ms, *check_key, *unreadable;

	if (!PyArg_ParseTuple(args, "OOOO:use", &belt, &ttl_ms, &check_key, &unreadable))
		return NULL;
	set(&state->belt, belt);
	set(&state->ttl_ms, ttl_ms);
	set(&state->check_key, check_key);
	set(&state->unreadable, unreadable);
	return Py_NewRef(Py_None);
}

static PyObject *add_type(PyObject *module, PyType_Spec *spec)
{
	PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);

	if (type && PyModule_AddType(module, (PyTypeObject *)type))
		Py_CLEAR(type);
	return type;
}

static int execute(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	state->device = add_type(module, &device_spec);
	state->keys = state->device ? add_type(module, &keys_spec) : NULL;
	state->cached = state->keys ? add_type(module, &cached_spec) : NULL;
	if (!state->cached)
		return -1;
	return PyModule_AddStringConstant(module, "VERSION", HASHBELT_VERSION);
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
	struct state *state = PyModule_GetState(module);

	Py_VISIT(state->device);
	Py_VISIT(state->keys);
	Py_VISIT(state->cached);
	Py_VISIT(state->belt);
	Py_VISIT(state->ttl_ms);
	Py_VISIT(state->check_key);
	Py_VISIT(state->unreadable);
	return 0;
}

static int clear(PyObject *module)
{
	struct state *state = PyModule_GetState(module);

	Py_CLEAR(state->device);
	Py_CLEAR(state->keys);
	Py_CLEAR(state->cached);
	Py_CLEAR(state->belt);
	Py_CLEAR(state->ttl_ms);
	Py_CLEAR(state->check_key);
	Py_CLEAR(state->unreadable);
	return 0;
}

static void free_module(void *module)
{
	clear(module);
}

static PyMethodDef functions[] = {
	{ "use", use, METH_VARARGS, "Take what the package has: see struct state." },
	{ 0 },
};

/* The newest slots come first: an older Python gets the rest. */
static PyModuleDef_Slot slots[] = {
	{ GIL, GIL_USED },
	{ MULTIPLE_INTERPRETERS, PER_INTERPRETER_GIL },
	{ Py_mod_exec, execute },
	{ 0 },
};

struct PyModuleDef native_module = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "hashbelt._native",
	.m_doc = "The frequent calls of the package hashbelt, without ctypes.",
	.m_size = sizeof(struct state),
	.m_methods = functions,
	.m_slots = slots,
	.m_traverse = traverse,
	.m_clear = clear,
	.m_free = free_module,
};

PyMODINIT_FUNC PyInit__native(void)
{
	native_module.m_slots = slots + (Py_Version < SINCE(13)) + (Py_Version < SINCE(12));
	return PyModuleDef_Init(&native_module);
}
