// SPDX-License-Identifier: LGPL-2.1-or-later
/* The handle of a belt: hashbelt._device.Device sets it, and takes it away. */
#include "native.h"

/**
 * device_open() - open a device that has no handle now
 * @device:	the device; NULL is an error
 *
 * Return: 0; -1 with an exception, ValueError after close() for example.
 */
int device_open(struct device *device)
{
	PyObject *handle;

	if (!device) {
		PyErr_SetString(PyExc_ValueError, "the belt was not opened: use hashbelt.open()");
		return -1;
	}
	while (!device->belt) {
		handle = PyObject_CallMethod((PyObject *)device, "handle", NULL);
		if (!handle)
			return -1;
		Py_DECREF(handle);
	}
	return 0;
}

/**
 * device_attempt() - make a call of the library that may wait, again after a signal
 * @device:	the device, whose handle stays open during the call
 * @run:	makes the call, without the GIL
 * @argument:	passed to @run
 * @err:	returned: 0 or a negative error number
 *
 * Return: 0, or -1 with an exception that is not one of @err.
 */
int device_attempt(struct device *device, int (*run)(struct hashbelt *belt, void *argument),
		   void *argument, int *err)
{
	struct hashbelt *belt;
	PyThreadState *thread;
	PyObject *handle;

	for (;;) {
		belt = device_belt(device);
		if (!belt)
			return -1;
		handle = Py_NewRef(device->handle);
		thread = PyEval_SaveThread();
		*err = run(belt, argument);
		PyEval_RestoreThread(thread);
		Py_DECREF(handle);
		if (*err != -EINTR)
			return 0;
		if (PyErr_CheckSignals())
			return -1;
	}
}

/**
 * device_fail() - raise the error of a call
 * @device:	the device
 * @err:	the negative error number
 * @call:	enum hashbelt_call
 * @key:	the key of the call, or NULL. An empty one gets the sentence of a long one
 *
 * Return: NULL.
 */
PyObject *device_fail(struct device *device, int err, int call, const struct key *key)
{
	PyObject *error;

	if (key && !key->len)
		err = -E2BIG;
	error = PyObject_CallMethod((PyObject *)device, "error", "ii", err, call);
	if (!error)
		return NULL;
	PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_DECREF(error);
	return NULL;
}

static PyObject *get_handle(PyObject *self, void *Py_UNUSED(closure))
{
	struct device *device = (struct device *)self;

	return Py_NewRef(device->handle ? device->handle : Py_None);
}

static int set_handle(PyObject *self, PyObject *handle, void *Py_UNUSED(closure))
{
	struct device *device = (struct device *)self;
	PyObject *address = NULL, *before;

	if (handle == Py_None)
		handle = NULL;
	if (handle) {
		address = PyObject_CallMethod(handle, "address", NULL);
		if (!address)
			return -1;
	}
	before = device->handle;
	device->handle = Py_XNewRef(handle);
	device->belt = address ? PyLong_AsVoidPtr(address) : NULL;
	Py_XDECREF(address);
	Py_XDECREF(before);
	return PyErr_Occurred() ? -1 : 0;
}

static int device_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct device *device = (struct device *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(device->handle);
	return 0;
}

static int device_clear(PyObject *self)
{
	struct device *device = (struct device *)self;

	device->belt = NULL;
	Py_CLEAR(device->handle);
	return 0;
}

static void device_dealloc(PyObject *self)
{
	object_dealloc(self, device_clear);
}

static PyGetSetDef device_members[] = {
	{ .name = "_handle", .get = get_handle, .set = set_handle,
	  .doc = "The Handle, or None." },
	{ 0 },
};

static PyType_Slot device_slots[] = {
	{ Py_tp_doc, "The base of hashbelt._device.Device." },
	{ Py_tp_getset, device_members },
	{ Py_tp_traverse, device_traverse },
	{ Py_tp_clear, device_clear },
	{ Py_tp_dealloc, device_dealloc },
	{ 0 },
};

PyType_Spec device_spec = {
	.name = "hashbelt._native.DeviceBase",
	.basicsize = sizeof(struct device),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = device_slots,
};
