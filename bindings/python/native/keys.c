// SPDX-License-Identifier: LGPL-2.1-or-later
/* The entries of a belt, by their keys. hashbelt.Belt is derived from it. */
#include "native.h"

/**
 * struct call - a call on one key
 * @key:	the key
 * @value:	the value of a put
 * @size:	its size, bytes
 * @item:	the item
 * @sum:	of an addition
 */
struct call {
	struct key key;
	char *value;
	Py_ssize_t size;
	struct hashbelt_item item;
	struct hashbelt_sum sum;
};

static int run_put(struct hashbelt *belt, void *argument)
{
	struct call *call = argument;
	struct hashbelt_item item = call->item;
	int err = hashbelt_put(belt, call->key.data, call->key.len, call->value, call->size, &item);

	call->item.version = err == -EINTR ? call->item.version : item.version;
	return err;
}

static int run_touch(struct hashbelt *belt, void *argument)
{
	struct call *call = argument;
	struct hashbelt_item item = call->item;

	return hashbelt_touch(belt, call->key.data, call->key.len, item.ttl_ms, &item);
}

static int run_remove(struct hashbelt *belt, void *argument)
{
	struct call *call = argument;
	struct hashbelt_item item = call->item;

	return hashbelt_remove(belt, call->key.data, call->key.len, &item);
}

static int run_add(struct hashbelt *belt, void *argument)
{
	struct call *call = argument;
	struct hashbelt_item item = call->item;

	return hashbelt_add_item(belt, call->key.data, call->key.len, &call->sum, &item);
}

/* Makes a call. Return: 0 and @err, which tells of the key; or -1 with an exception. */
static int attempt(struct keys *keys, int (*run)(struct hashbelt *belt, void *argument),
		   struct call *call, int number, int *err)
{
	if (device_attempt(keys->device, run, call, err))
		return -1;
	switch (*err) {
	case 0:
	case -ENOENT:
	case -EEXIST:
	case -ESTALE:
	case -EALREADY:
	case -ERANGE:
		return 0;
	}
	device_fail(keys->device, *err, number, &call->key);
	return -1;
}

static PyObject *fail(struct keys *keys, int err, int number)
{
	return device_fail(keys->device, err, number, NULL);
}

static const struct signature get_signature = { "get", 1, 2, { "key", "default" } };

static PyObject *keys_get(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct keys *keys = (struct keys *)self;
	PyObject *found[2] = { NULL }, *value;
	struct key key;
	int is_there;

	if (parse(&get_signature, args, count, names, found) ||
	    key_of(keys->state, found[0], &key))
		return NULL;
	is_there = find(keys, &key, NULL, &value);
	if (is_there == 1)
		return load(keys, value);
	if (is_there)
		return NULL;
	return Py_NewRef(found[1] ? found[1] : Py_None);
}

static PyObject *keys_subscript(PyObject *self, PyObject *name)
{
	struct keys *keys = (struct keys *)self;
	PyObject *value;
	struct key key;
	int found;

	if (key_of(keys->state, name, &key))
		return NULL;
	found = find(keys, &key, NULL, &value);
	if (!found)
		return fail(keys, -ENOENT, HASHBELT_CALL_GET);
	return found == 1 ? load(keys, value) : NULL;
}

static const struct signature found_signature = {
	"_found", 3, 3, { "key", "least_ms", "default" }
};

static PyObject *keys_found(PyObject *self, PyObject *const *args, Py_ssize_t count,
			    PyObject *names)
{
	struct keys *keys = (struct keys *)self;
	PyObject *found[3] = { NULL }, *value;
	__u64 least_ms;
	struct key key;
	int is_there;

	if (parse(&found_signature, args, count, names, found) ||
	    key_of(keys->state, found[0], &key))
		return NULL;
	least_ms = PyLong_AsUnsignedLongLong(found[1]);
	if (PyErr_Occurred())
		return NULL;
	is_there = find_loaded(keys, &key, least_ms, &value);
	if (is_there < 0)
		return NULL;
	return is_there ? value : Py_NewRef(found[2]);
}

/* Whether an argument was not passed, or is the int 0. */
static int is_zero(PyObject *argument)
{
	int overflow;

	return !argument || (PyLong_CheckExact(argument) &&
			     !PyLong_AsLongLongAndOverflow(argument, &overflow));
}

/*
 * Whether Belt.get_or_set() takes any present value for these arguments. All others, and those that
 * are wrong, are left to Python.
 */
static int are_plain(const struct keys *keys, PyObject *const *found)
{
	PyObject *ttl = found[2], *timeout = found[6];

	return (!ttl || ttl == keys->state->belt || ttl == Py_None || plain_ms(ttl)) &&
	       is_zero(found[3]) && is_zero(found[4]) && (!found[5] || plain_ms(found[5])) &&
	       (!timeout || timeout == Py_None || plain_ms(timeout) || is_zero(timeout));
}

static const struct signature get_or_set_signature = {
	"get_or_set", 2, 3, { "key", "compute", "ttl", "stale", "ahead", "lease", "timeout" }
};

/* Calls a method of Belt with the arguments of get_or_set() that were passed. */
static PyObject *compute(PyObject *self, const char *method, PyObject *const *found)
{
	PyObject *passed = PyDict_New(), *none = PyTuple_New(0), *function = NULL, *value = NULL;
	int i, err = !passed || !none;

	for (i = 0; !err && get_or_set_signature.names[i]; i++)
		if (found[i])
			err = PyDict_SetItemString(passed, get_or_set_signature.names[i], found[i]);
	if (!err)
		function = PyObject_GetAttrString(self, method);
	if (function)
		value = PyObject_Call(function, none, passed);
	Py_XDECREF(function);
	Py_XDECREF(none);
	Py_XDECREF(passed);
	return value;
}

static PyObject *keys_get_or_set(PyObject *self, PyObject *const *args, Py_ssize_t count,
				 PyObject *names)
{
	struct keys *keys = (struct keys *)self;
	PyObject *found[7] = { NULL }, *value;
	struct key key;
	int is_there;

	if (parse(&get_or_set_signature, args, count, names, found))
		return NULL;
	if (!are_plain(keys, found))
		return compute(self, "_get_or_set", found);
	if (key_of(keys->state, found[0], &key))
		return NULL;
	is_there = find_loaded(keys, &key, 0, &value);
	if (is_there < 0)
		return NULL;
	return is_there ? value : compute(self, "_compute", found);
}

static int keys_contains(PyObject *self, PyObject *name)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH };
	struct keys *keys = (struct keys *)self;
	struct hashbelt *belt;
	struct key key;
	int err;

	if (!PyUnicode_Check(name) && !PyBytes_Check(name))
		return 0;
	if (key_of(keys->state, name, &key))
		return -1;
	belt = device_belt(keys->device);
	if (!belt)
		return -1;
	err = hashbelt_get(belt, key.data, key.len, NULL, 0, &item);
	if (!err || err == -ENOENT)
		return !err;
	device_fail(keys->device, err, HASHBELT_CALL_GET, &key);
	return -1;
}

/* Makes the bytes of a value: a new reference, or NULL with an exception. */
static PyObject *dump(const struct keys *keys, PyObject *value, struct call *call)
{
	PyObject *data;

	if (!keys->loads && PyBytes_CheckExact(value))
		data = Py_NewRef(value);
	else
		data = PyObject_CallFunctionObjArgs(keys->dumps, value, NULL);
	if (data && PyBytes_AsStringAndSize(data, &call->value, &call->size))
		Py_CLEAR(data);
	return data;
}

/*
 * Puts a value. @call has the item, but for its time-to-live. Return: 0 and @err, which tells of
 * the key; or -1 with an exception.
 */
static int put(struct keys *keys, PyObject *name, PyObject *value, PyObject *ttl, struct call *call,
	       int *err)
{
	PyObject *data;
	int failed;

	if (key_of(keys->state, name, &call->key))
		return -1;
	data = dump(keys, value, call);
	if (!data)
		return -1;
	failed = kernel_ttl(keys->state, ttl, &call->item.ttl_ms) ||
		 attempt(keys, run_put, call, HASHBELT_CALL_PUT, err);
	Py_DECREF(data);
	return failed ? -1 : 0;
}

/* Demands a version, if one was passed. Return: 0, or -1 with an exception. */
static int demand_version(struct call *call, PyObject *version)
{
	if (!version || version == Py_None)
		return 0;
	call->item.how |= HASHBELT_IF_VERSION;
	call->item.version = PyLong_AsUnsignedLongLong(version);
	return PyErr_Occurred() ? -1 : 0;
}

/* Sets a bit of @how, if an argument is there and true. Return: 0, or -1 with an exception. */
static int demand(struct call *call, PyObject *argument, __u32 how)
{
	int is_true = argument ? PyObject_IsTrue(argument) : 0;

	if (is_true > 0)
		call->item.how |= how;
	return is_true < 0 ? -1 : 0;
}

static const struct signature set_signature = {
	"set", 2, 3, { "key", "value", "ttl", "version", "bound" }
};

static PyObject *keys_set(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct keys *keys = (struct keys *)self;
	PyObject *found[5] = { NULL };
	struct call call = { 0 };
	int err;

	if (parse(&set_signature, args, count, names, found) || demand_version(&call, found[3]) ||
	    demand(&call, found[4], HASHBELT_BOUND) ||
	    put(keys, found[0], found[1], found[2], &call, &err))
		return NULL;
	if (err)
		return fail(keys, err, HASHBELT_CALL_PUT);
	return PyLong_FromUnsignedLongLong(call.item.version);
}

static const struct signature add_signature = { "add", 2, 3, { "key", "value", "ttl", "bound" } };

static PyObject *keys_add(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct call call = { .item.how = HASHBELT_IF_ABSENT };
	struct keys *keys = (struct keys *)self;
	PyObject *found[4] = { NULL };
	int err;

	if (parse(&add_signature, args, count, names, found) ||
	    demand(&call, found[3], HASHBELT_BOUND) ||
	    put(keys, found[0], found[1], found[2], &call, &err))
		return NULL;
	return PyBool_FromLong(!err);
}

static const struct signature touch_signature = {
	"touch", 1, 2,
	{ "key", "ttl", "version", "add", "if_lasting", "if_expiring", "if_later", "if_sooner" }
};

/* The demands of a touch, in the order of its arguments from "add" on. */
static const __u32 touch_demands[] = {
	HASHBELT_FROM_DEADLINE, HASHBELT_IF_LASTING, HASHBELT_IF_EXPIRING, HASHBELT_IF_LATER,
	HASHBELT_IF_SOONER,
};

static int demand_deadline(struct call *call, PyObject **found)
{
	size_t i;

	for (i = 0; i < sizeof(touch_demands) / sizeof(*touch_demands); i++)
		if (found[i] && demand(call, found[i], touch_demands[i]))
			return -1;
	return 0;
}

static PyObject *keys_touch(PyObject *self, PyObject *const *args, Py_ssize_t count,
			    PyObject *names)
{
	struct keys *keys = (struct keys *)self;
	PyObject *found[8] = { NULL };
	struct call call = { 0 };
	int err;

	if (parse(&touch_signature, args, count, names, found) ||
	    key_of(keys->state, found[0], &call.key) ||
	    kernel_ttl(keys->state, found[1], &call.item.ttl_ms) ||
	    demand_version(&call, found[2]) || demand_deadline(&call, found + 3) ||
	    attempt(keys, run_touch, &call, HASHBELT_CALL_TOUCH, &err))
		return NULL;
	if (err == -ESTALE)
		return fail(keys, err, HASHBELT_CALL_TOUCH);
	return PyBool_FromLong(!err);
}

static const struct signature delete_signature = { "delete", 1, 1, { "key", "version", "stale" } };

static PyObject *keys_delete(PyObject *self, PyObject *const *args, Py_ssize_t count,
			     PyObject *names)
{
	struct keys *keys = (struct keys *)self;
	PyObject *found[3] = { NULL };
	struct call call = { 0 };
	int err;

	if (parse(&delete_signature, args, count, names, found) ||
	    key_of(keys->state, found[0], &call.key) || demand_version(&call, found[1]) ||
	    demand(&call, found[2], HASHBELT_LEAVE_STALE) ||
	    attempt(keys, run_remove, &call, HASHBELT_CALL_REMOVE, &err))
		return NULL;
	if (err == -ESTALE)
		return fail(keys, err, HASHBELT_CALL_REMOVE);
	return PyBool_FromLong(!err);
}

static int delete_or_fail(struct keys *keys, PyObject *name)
{
	struct call call = { 0 };
	int err;

	if (key_of(keys->state, name, &call.key) ||
	    attempt(keys, run_remove, &call, HASHBELT_CALL_REMOVE, &err))
		return -1;
	if (err)
		fail(keys, err, HASHBELT_CALL_REMOVE);
	return err ? -1 : 0;
}

static int keys_ass_subscript(PyObject *self, PyObject *name, PyObject *value)
{
	struct keys *keys = (struct keys *)self;
	struct call call = { 0 };
	int err;

	if (!value)
		return delete_or_fail(keys, name);
	if (put(keys, name, value, NULL, &call, &err))
		return -1;
	if (err)
		fail(keys, err, HASHBELT_CALL_PUT);
	return err ? -1 : 0;
}

/*
 * The number that an argument is, if one was passed. Return: 0; -1 with an exception; 1 if it needs
 * more bits than it may have.
 */
static int number_of(PyObject *argument, __s64 *number)
{
	int overflow;

	if (!argument)
		return 0;
	*number = PyLong_AsLongLongAndOverflow(argument, &overflow);
	if (*number == -1 && PyErr_Occurred())
		return -1;
	return overflow || *number < -INT64_MAX;
}

/*
 * The numbers of an addition. Return: 0; -1 with an exception; 1 if one needs more bits than it may
 * have.
 */
static int numbers_of(struct call *call, PyObject *by, PyObject *initial, PyObject *minimum)
{
	__s64 least;
	int err;

	call->sum.by = 1;
	err = number_of(by, &call->sum.by);
	if (!err)
		err = number_of(initial, &call->sum.value);
	if (err || !minimum || minimum == Py_None)
		return err;
	err = number_of(minimum, &least);
	call->item.how |= HASHBELT_FLOOR;
	call->item.version = least;
	if (!err && call->sum.value < least)
		call->sum.value = least;
	return err;
}

static const struct signature incr_signature = {
	"incr", 1, 2, { "key", "by", "initial", "ttl", "minimum", "if_present" }
};

static PyObject *keys_incr(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct keys *keys = (struct keys *)self;
	PyObject *found[6] = { NULL };
	struct call call = { 0 };
	int err;

	if (parse(&incr_signature, args, count, names, found) ||
	    demand(&call, found[5], HASHBELT_IF_PRESENT) ||
	    kernel_ttl(keys->state, found[3], &call.item.ttl_ms))
		return NULL;
	err = numbers_of(&call, found[1], found[2], found[4]);
	if (err < 0)
		return NULL;
	if (err)
		return fail(keys, -EOVERFLOW, HASHBELT_CALL_ADD);
	if (key_of(keys->state, found[0], &call.key) ||
	    attempt(keys, run_add, &call, HASHBELT_CALL_ADD, &err))
		return NULL;
	if (err)
		return fail(keys, err, HASHBELT_CALL_ADD);
	return PyLong_FromLongLong(call.sum.value);
}

static int keys_init(PyObject *self, PyObject *args, PyObject *names)
{
	struct keys *keys = (struct keys *)self;
	PyObject *device, *dumps, *loads;

	if (names && PyDict_Size(names)) {
		PyErr_SetString(PyExc_TypeError, "Keys() takes no arguments by name");
		return -1;
	}
	if (!PyArg_ParseTuple(args, "OOO:Keys", &device, &dumps, &loads))
		return -1;
	if (!PyObject_TypeCheck(device, (PyTypeObject *)keys->state->device)) {
		PyErr_SetString(PyExc_TypeError, "Keys() takes a device");
		return -1;
	}
	if (keys->device) {
		PyErr_SetString(PyExc_TypeError, "Keys() has been called before");
		return -1;
	}
	keys->device = (struct device *)Py_NewRef(device);
	keys->dumps = Py_NewRef(dumps);
	keys->loads = loads == Py_None ? NULL : Py_NewRef(loads);
	return 0;
}

static PyObject *keys_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(names))
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct keys *keys = (struct keys *)allocate(type, 0);

	if (keys)
		keys->state = state_of(type);
	return (PyObject *)keys;
}

static int keys_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct keys *keys = (struct keys *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(keys->device);
	Py_VISIT(keys->dumps);
	Py_VISIT(keys->loads);
	return 0;
}

static int keys_clear(PyObject *self)
{
	struct keys *keys = (struct keys *)self;

	Py_CLEAR(keys->device);
	Py_CLEAR(keys->dumps);
	Py_CLEAR(keys->loads);
	return 0;
}

static void keys_dealloc(PyObject *self)
{
	PyMem_Free(((struct keys *)self)->room);
	object_dealloc(self, keys_clear);
}

#define METHOD(name, function, text) \
	{ name, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, text }

static PyMethodDef keys_methods[] = {
	METHOD("get", keys_get, "get($self, key, default=None)\n--\n\n"
	       "The value of a key, or the default. Raises what the serializer raises."),
	METHOD("set", keys_set, "set(key, value, ttl=BELT, *, version=None, bound=False)\n\n"
	       "Store a value, and return the version that the entry has then. With version, only\n"
	       "if the entry has that version, else Changed is raised. With bound, the entry goes\n"
	       "when the belt is closed or the process ends. Raises Full, Exists in a belt that\n"
	       "keeps values, and what the serializer raises."),
	METHOD("add", keys_add, "add(key, value, ttl=BELT, *, bound=False)\n\n"
	       "Store a value if there is no entry. Returns whether it was stored. Raises Full."),
	METHOD("touch", keys_touch,
	       "touch(key, ttl=BELT, *, version=None, add=False, if_lasting=False,\n"
	       "      if_expiring=False, if_later=False, if_sooner=False)\n\n"
	       "Give an entry another time-to-live. Returns whether it has it.\n"
	       "\n"
	       "With version, only if the entry has that version: else Changed is raised. Other conditions\n"
	       "are that it never expires, that it does, and that its deadline gets later or earlier: if\n"
	       "one does not hold, False is returned. With add, ttl is added to the time left."),
	METHOD("delete", keys_delete, "delete($self, key, *, version=None, stale=False)\n--\n\n"
	       "Remove an entry, and end the fill lease of its key. Returns whether there was one.\n"
	       "With version, only if the entry has that version: else Changed is raised. With\n"
	       "stale, the value stays for the grace time of the belt, as one that has expired.\n"
	       "Raises Error then if the belt has no grace time, or reinserts."),
	METHOD("incr", keys_incr,
	       "incr(key, by=1, *, initial=0, ttl=BELT, minimum=None, if_present=False)\n\n"
	       "Add to a number in decimal, and return the sum. An absent entry counts as initial,\n"
	       "and gets ttl; a present one keeps its deadline. A sum below minimum becomes\n"
	       "minimum, and an absent entry counts as minimum at least. With if_present, an\n"
	       "absent entry raises Missing. Raises NotNumber, also for a present number below\n"
	       "minimum; SumTooLarge if the sum or a number needs more than 64 bits; and Full."),
	METHOD("get_or_set", keys_get_or_set,
	       "get_or_set(key, compute, ttl=BELT, *, stale=0, ahead=0, lease=30, timeout=None)\n\n"
	       "The value of a key. If there is none, one process of the machine computes it.\n\n"
	       "compute is called without arguments by the caller that gets the fill lease, of\n"
	       "lease seconds; others wait, at most timeout seconds. Its exception is raised here,\n"
	       "nothing is stored, and the next waiter computes. A value that was computed before\n"
	       "delete(), clear() or set() is returned, and not stored after these. stale: the\n"
	       "time in seconds beyond ttl in which the others take the old value while one caller\n"
	       "computes. ahead: the time in seconds before the end of ttl from which one caller\n"
	       "computes. Both need a ttl that ends. Raises FillTimeout, FillFailed, Full."),
	{ "get_many", get_many, METH_O, "get_many($self, keys)\n--\n\n"
	  "The values of those keys that have entries, by the keys as they were passed." },
	METHOD("_found", keys_found, "_found($self, key, least_ms, default)\n--\n\n"
	       "The value of a key that lives for some time, or the default."),
	{ "__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "Makes Keys[V], by PEP 585." },
	{ 0 },
};

static PyType_Slot keys_slots[] = {
	{ Py_tp_doc, "The entries of a belt: see hashbelt.Belt." },
	{ Py_tp_methods, keys_methods },
	{ Py_mp_subscript, keys_subscript },
	{ Py_mp_ass_subscript, keys_ass_subscript },
	{ Py_sq_contains, keys_contains },
	{ Py_tp_new, keys_new },
	{ Py_tp_init, keys_init },
	{ Py_tp_traverse, keys_traverse },
	{ Py_tp_clear, keys_clear },
	{ Py_tp_dealloc, keys_dealloc },
	{ 0 },
};

PyType_Spec keys_spec = {
	.name = "hashbelt._native.Keys",
	.basicsize = sizeof(struct keys),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = keys_slots,
};
