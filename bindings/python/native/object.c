// SPDX-License-Identifier: LGPL-2.1-or-later
/* Functions of all types of this module. */
#include "native.h"

/* Frees an object after its references were dropped. The object has one to its type. */
void object_dealloc(PyObject *self, inquiry clear)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

	PyObject_GC_UnTrack(self);
	clear(self);
	free_object(self);
	Py_DECREF(type);
}

/* The state of the module that a type, or one that it is derived from, belongs to. Cannot fail. */
struct state *state_of(PyTypeObject *type)
{
	PyObject *module;

	for (; type; type = PyType_GetSlot(type, Py_tp_base)) {
		module = PyType_GetModule(type);
		if (module && PyModule_GetDef(module) == &native_module)
			return PyModule_GetState(module);
		PyErr_Clear();
	}
	return NULL;
}
