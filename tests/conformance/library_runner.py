#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""library_runner.py FILE - run the cases of a file with the functions of libhashbelt.

It calls each function of the library itself, with the declarations that the package for Python
takes from the headers. The package makes the belt.
"""

import ctypes
import errno
import fcntl
import os
import select

import belts
import runner
from belts import NAME, hashbelt
from hashbelt._library import library
from runner import Refused, as_user, error_name, seconds

abi = hashbelt.abi
PATIENCE_MS = 60000     # an event that has not come by then does not come
ROOM = 4096             # for each value of a batch
TTLS = {"never": abi.TTL_NEVER, "keep": abi.TTL_KEEP, "belt": abi.TTL_BELT}
BATCHED = {name: getattr(abi, f"OP_{name.upper()}")
           for name in ("get", "put", "touch", "remove", "expire", "add")}
REASONS = ("", "expired", "evicted", "replaced", "removed", "cleared", "pressure", "released")
CAUSES = ("", "timeout", "eviction", "put", "complete", "clear", "pressure")


def milliseconds(step, name="ttl"):
    """A time of a step as the library takes it."""
    value = step.get(name, 0)
    return TTLS[value] if isinstance(value, str) else round(value * 1000)


def time_of(ms):
    """A time that the library has returned as cases have it."""
    return seconds(None if ms == abi.TTL_NEVER else ms)


def bits(step, **values):
    """The sum of the values whose arguments a step has."""
    return sum(value for name, value in values.items()
               if name in step.members and step.get(name) is not False)


def data(step, name):
    """Bytes of a step, and their length."""
    value = step.bytes(name) if name in step.members else b""
    return value, len(value)


def memory(value):
    """Memory with these bytes. A slice of it is bytes."""
    return (ctypes.c_char * len(value)).from_buffer_copy(value)


def check(err, **found):
    """Raise Refused, with results that come beside an error, for a negative error number."""
    if err < 0:
        raise Refused(error_name(-err), **found)


def item_results(item):
    """The results of a call on one key."""
    return {"version": item.version, "flags": item.flags, "ttl": time_of(item.ttl_ms)}


def tail(record, offset, length):
    """Bytes behind a record."""
    return ctypes.string_at(ctypes.addressof(record) + ctypes.sizeof(record) + offset, length)


def walk(handle, name, kind, *arguments):
    """The records of a walk: hashbelt_NAME_begin() to hashbelt_NAME_end()."""
    walker, record = ctypes.c_void_p(), ctypes.POINTER(kind)()
    check(getattr(library, name + "_begin")(handle, *arguments, ctypes.byref(walker)))
    try:
        while more := getattr(library, name + "_next")(walker, ctypes.byref(record)):
            check(more)
            yield record.contents
    finally:
        getattr(library, name + "_end")(walker)


class Handle:
    """A handle of the belt, and the events that it has read."""

    def __init__(self, user=None):
        self.user = user
        self.tokens = {}    # of fill leases, by key
        self._as_parameter_ = ctypes.c_void_p()
        self._buffer = None
        self._len = 0
        self._event = None
        with as_user(user):
            check(library.open(None, ctypes.byref(self._as_parameter_)))
            err = library.bind(self, NAME.encode())
        if err:
            self.close()
        check(err)

    def close(self):
        """Close the handle."""
        library.close(self)

    def _read(self):
        self._buffer = self._buffer or ctypes.create_string_buffer(abi.EVENT_MAX)
        number = library.fd(self)
        fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_NONBLOCK)
        self._event = None
        self._len = library.read(self, self._buffer, abi.EVENT_MAX)
        check(self._len)

    def _step(self):
        self._event = library.event_next(self._buffer, self._len, self._event)

    def event(self):
        """The next event. Raises Refused: EAGAIN if none is queued."""
        if self._len > 0:
            self._step()
        if not self._event:
            self._len = 0
            self._read()
            self._step()
        return abi.Event.from_address(self._event)

    def events(self, wanted):
        """All events that are queued; waits for as many as are WANTED."""
        poller = select.poll()
        poller.register(library.fd(self), select.POLLIN)
        found = 0
        while True:
            try:
                event = self.event()
            except Refused as refused:
                if refused.name != "EAGAIN":
                    raise
                if found >= wanted or not poller.poll(PATIENCE_MS):
                    return
            else:
                found += 1
                yield event


class Library:
    """The operations."""

    def __init__(self):
        self._handles = {}
        self._settings = {}
        self._value = ctypes.create_string_buffer(abi.VALUE_MAX)

    def begin(self, settings):
        """Make the belt of a case, and the handle "main"."""
        self._settings = settings
        belts.create(settings)
        self._handles = {"main": Handle()}
        check(library.halt(self._handles["main"]))

    def end(self):
        """Close all handles, and destroy the belt, if the case has not."""
        for handle in self._handles.values():
            handle.close()
        self._handles = {}
        belts.end()

    def close(self):
        """Called at the end."""

    def _handle(self, step):
        return self._handles[step.who()]

    def do_open(self, step):
        self._handles[step.who()] = Handle(step.get("user"))

    def do_close(self, step):
        self._handles.pop(step.who()).close()

    def do_create(self, step):
        try:
            belts.create(self._settings)
        except hashbelt.Error as error:
            raise Refused(error_name(error.errno)) from error

    def do_destroy(self, step):
        opened = ctypes.c_void_p()
        with as_user(self._handle(step).user):
            check(library.open(None, ctypes.byref(opened)))
            err = library.destroy(opened, NAME.encode())
        library.close(opened)
        check(err)

    def do_put(self, step):
        item = abi.Item(
            how=bits(step, if_absent=abi.IF_ABSENT, if_present=abi.IF_PRESENT,
                     if_version=abi.IF_VERSION, bound=abi.BOUND),
            flags=step.get("flags", 0), ttl_ms=milliseconds(step),
            version=step.get("if_version", 0))
        err = library.put(self._handle(step), *data(step, "key"), *data(step, "value"),
                          ctypes.byref(item))
        check(err, **item_results(item))
        return item_results(item)

    def do_get(self, step):
        item = abi.Item(how=bits(step, ttl=abi.AND_TOUCH, no_refresh=abi.NO_REFRESH),
                        ttl_ms=milliseconds(step))
        err = library.get(self._handle(step), *data(step, "key"), self._value,
                          step.get("room", abi.VALUE_MAX), ctypes.byref(item))
        check(err, **({"value_len": item.value_len} if err == -errno.ERANGE else {}))
        return {"value": self._value[:item.value_len], "value_len": item.value_len,
                **item_results(item)}

    def do_has(self, step):
        item = abi.Item(how=abi.NO_VALUE | abi.NO_REFRESH)
        check(library.get(self._handle(step), *data(step, "key"), None, 0, ctypes.byref(item)))

    def do_touch(self, step):
        item = abi.Item(
            how=bits(step, if_version=abi.IF_VERSION, add=abi.FROM_DEADLINE,
                     if_lasting=abi.IF_LASTING, if_expiring=abi.IF_EXPIRING,
                     if_later=abi.IF_LATER, if_sooner=abi.IF_SOONER),
            version=step.get("if_version", 0))
        check(library.touch(self._handle(step), *data(step, "key"), milliseconds(step),
                            ctypes.byref(item)))
        return item_results(item)

    def do_touch_bound(self, step):
        item = abi.Item()
        check(library.touch_bound(self._handle(step), milliseconds(step), ctypes.byref(item)))
        return {"count": item.version}

    def do_remove(self, step):
        item = abi.Item(how=bits(step, if_version=abi.IF_VERSION, stale=abi.LEAVE_STALE),
                        version=step.get("if_version", 0))
        check(library.remove(self._handle(step), *data(step, "key"), ctypes.byref(item)))

    def do_expire(self, step):
        check(library.expire(self._handle(step), *data(step, "key")))

    def do_add(self, step):
        handle, key, ttl = self._handle(step), data(step, "key"), milliseconds(step)
        number = abi.Sum(by=step.get("by"), value=step.get("initial", 0))
        how = bits(step, floor=abi.FLOOR, if_present=abi.IF_PRESENT)
        if how:
            item = abi.Item(how=how, ttl_ms=ttl, version=step.get("floor", 0))
            check(library.add_item(handle, *key, ctypes.byref(number), ctypes.byref(item)))
            return {"sum": number.value}
        found = ctypes.c_int64()
        check(library.add(handle, *key, number.by, number.value, ttl, ctypes.byref(found)))
        return {"sum": found.value}

    def _batch(self, step, rows):
        """Carry out rows: an operation, a key, what the item points to or None, a condition, a ttl.

        Returns the items, each with what it points to.
        """
        items, kept = (abi.Item * len(rows))(), []
        for item, (operation, key, place, how, ttl) in zip(items, rows):
            kept.append((memory(key), memory(bytes(ROOM)) if place is None else place))
            item.op, item.how, item.ttl_ms = BATCHED[operation], how, ttl
            item.key, item.key_len = ctypes.addressof(kept[-1][0]), len(key)
            if place is not None or operation == "get":
                item.value = ctypes.addressof(kept[-1][1])
                item.value_len = ctypes.sizeof(kept[-1][1])
        first, done = 0, ctypes.c_uint()
        while first < len(rows):
            check(library.batch(
                self._handle(step), ctypes.byref(items, first * ctypes.sizeof(abi.Item)),
                min(len(rows) - first, abi.BATCH_MAX), ctypes.byref(done)))
            first += done.value
        return [(item, place) for item, (_, place) in zip(items, kept)]

    def _many(self, step, operation):
        keys = step.all_bytes("keys")
        places = [None] * len(keys)
        if "values" in step.members:
            places = [memory(value) for value in step.all_bytes("values")]
        return self._batch(step, [(operation, key, place, 0, milliseconds(step))
                                  for key, place in zip(keys, places)])

    def do_put_many(self, step):
        for item, _ in self._many(step, "put"):
            check(item.result)

    def do_get_many(self, step):
        values = []
        for key, (item, room) in zip(step.all_bytes("keys"), self._many(step, "get")):
            err, length = item.result, item.value_len
            if err == -errno.ERANGE:
                again, room = abi.Item(), self._value
                err = library.get(self._handle(step), key, len(key), room, len(room),
                                  ctypes.byref(again))
                length = again.value_len
            if err != -errno.ENOENT:
                check(err)
            values.append(None if err else room[:length])
        return {"values": values}

    def do_remove_many(self, step):
        results = [item.result for item, _ in self._many(step, "remove")]
        for result in results:
            check(0 if result == -errno.ENOENT else result)
        return {"removed": results.count(0)}

    def do_batch(self, step):
        rows = []
        for members in step.members["items"]:
            part = runner.Step(members, {})
            place = memory(part.bytes("value")) if "value" in members else None
            if members["do"] == "add":
                place = abi.Sum(by=part.get("by"))
            rows.append((members["do"], part.bytes("key"), place,
                         bits(part, if_absent=abi.IF_ABSENT), milliseconds(part)))
        results = []
        for (operation, *_), (item, place) in zip(rows, self._batch(step, rows)):
            if item.result:
                results.append({"error": error_name(-item.result)})
            else:
                results.append({"value": place[:item.value_len]} if operation == "get" else
                               {"sum": place.value} if operation == "add" else {})
        return {"results": results}

    def do_clear(self, step):
        check(library.clear(self._handle(step)))

    def do_scan(self, step):
        entries = [{"key": tail(record, 0, record.key_len), "value_len": record.value_len,
                    "flags": record.flags, "version": record.version, "ttl": time_of(record.ttl_ms)}
                   for record in walk(self._handle(step), "scan", abi.Record)]
        entries.sort(key=lambda entry: entry["key"])
        return {"keys": [entry["key"] for entry in entries], "entries": entries}

    def do_info(self, step):
        info = abi.Info()
        check(library.info(self._handle(step), ctypes.byref(info)))
        return {"entries": info.entries, "max_entries": info.max_entries, "locks": info.locks,
                "requests": info.requests, "ttl": time_of(info.ttl_ms),
                "grace": time_of(info.grace_ms), "halted": bool(info.state & abi.HALTED)}

    def do_stat(self, step):
        counters, count = (ctypes.c_uint64 * abi.STAT_COUNT)(), ctypes.c_uint(abi.STAT_COUNT)
        check(library.stat(self._handle(step), counters, ctypes.byref(count)))
        return {row[0]: value for row, value in zip(abi.COUNTERS, counters)}

    def do_set(self, step):
        settings = abi.Settings(
            fields=bits(step, ttl=abi.SET_TTL, max_entries=abi.SET_MAX_ENTRIES),
            ttl_ms=milliseconds(step), max_entries=step.get("max_entries", 0))
        check(library.set(self._handle(step), ctypes.byref(settings)))

    def do_advance(self, step):
        check(library.advance(self._handle(step), milliseconds(step, "time")))

    def do_rotate(self, step):
        check(library.rotate(self._handle(step)))

    def do_fill(self, step):
        handle, key = self._handle(step), data(step, "key")
        fill = abi.Fill(lease_ms=milliseconds(step, "lease"), ahead_ms=milliseconds(step, "ahead"),
                        how=bits(step, stale=abi.STALE, bound=abi.BOUND))
        err = library.fill(handle, *key, self._value, abi.VALUE_MAX, ctypes.byref(fill))
        if err != -errno.ENOENT:
            check(err)
        if fill.state & abi.GRANTED:
            handle.tokens[key] = fill.token
        return {"value": None if err else self._value[:fill.item.value_len],
                **{name: bool(fill.state & getattr(abi, name.upper()))
                   for name in ("granted", "filling", "failed", "stale")}}

    def do_fill_put(self, step):
        handle, key = self._handle(step), data(step, "key")
        item = abi.Item(ttl_ms=milliseconds(step))
        check(library.fill_put(handle, *key, *data(step, "value"), handle.tokens.get(key, 0),
                               ctypes.byref(item)))

    def do_offer(self, step):
        try:
            self.do_fill_put(step)
        except Refused as refused:
            if refused.name != "ESTALE":
                raise

    def _change_lease(self, step, function, *arguments):
        handle, key = self._handle(step), data(step, "key")
        check(function(handle, *key, handle.tokens.get(key, 0), *arguments))

    def do_fill_renew(self, step):
        self._change_lease(step, library.fill_renew, milliseconds(step, "lease"))

    def do_fill_fail(self, step):
        self._change_lease(step, library.fill_fail, milliseconds(step, "retry"))

    def do_give_up(self, step):
        self._change_lease(step, library.give_up)

    @staticmethod
    def _lock_results(lock):
        return {"token": lock.token, "ttl": time_of(lock.ttl_ms), "held": time_of(lock.held_ms)}

    def do_lock(self, step):
        lock = abi.Lock(how=bits(step, bound=abi.BOUND, if_absent=abi.IF_ABSENT),
                        ttl_ms=milliseconds(step))
        check(library.lock(self._handle(step), *data(step, "name"), *data(step, "owner"),
                           ctypes.byref(lock)))
        return self._lock_results(lock)

    def do_unlock(self, step):
        check(library.unlock(self._handle(step), *data(step, "name"), *data(step, "owner")))

    def do_renew(self, step):
        lock = abi.Lock()
        check(library.renew(self._handle(step), *data(step, "name"), *data(step, "owner"),
                            milliseconds(step), ctypes.byref(lock)))
        return self._lock_results(lock)

    def do_holder(self, step):
        owner, size = ctypes.create_string_buffer(abi.OWNER_MAX), ctypes.c_size_t(abi.OWNER_MAX)
        lock = abi.Lock()
        check(library.holder(self._handle(step), *data(step, "name"), owner, ctypes.byref(size),
                             ctypes.byref(lock)))
        return {**self._lock_results(lock), "owner": owner[:size.value]}

    def do_release(self, step):
        count = ctypes.c_uint64()
        check(library.release(self._handle(step), *data(step, "owner"), ctypes.byref(count)))
        return {"count": count.value}

    def do_locks(self, step):
        locks = [{"name": tail(record, 0, record.key_len),
                  "owner": tail(record, record.key_len, record.owner_len),
                  "token": record.token, "ttl": time_of(record.ttl_ms)}
                 for record in walk(self._handle(step), "locks", abi.LockRecord,
                                    *data(step, "owner"))]
        return {"locks": sorted(locks, key=lambda lock: lock["name"])}

    @staticmethod
    def _event(event):
        is_lock = event.kind == abi.LOCK
        return {"key": tail(event, 0, event.key_len), "kind": "lock" if is_lock else "entry",
                "owner" if is_lock else "value": tail(event, event.key_len, event.value_len),
                "reason": REASONS[event.reason], "sequence": event.sequence, "lost": event.lost,
                "flags": event.flags, "token" if is_lock else "version": event.version}

    def do_events(self, step):
        return {"events": [self._event(event)
                           for event in self._handle(step).events(step.expected("events"))]}

    def do_completed(self, step):
        return {"requests": [{"id": event.id, "cause": CAUSES[event.reason],
                              "key": tail(event, 0, event.key_len)}
                             for event in self._handle(step).events(step.expected("requests"))]}

    def do_watch(self, step):
        handle = self._handles[step.who()] = Handle()
        check(library.watch(handle, abi.WATCH_REQUESTS if step.get("requests") else abi.WATCH_ACK))

    def do_event(self, step):
        return self._event(self._handle(step).event())

    def do_ack(self, step):
        check(library.ack(self._handle(step), step.get("sequence")))

    def do_request(self, step):
        names = step.all_bytes("keys")
        keys, kept = (abi.Key * len(names))(), []
        for key, name in zip(keys, names):
            kept.append(memory(name))
            key.key, key.key_len = ctypes.addressof(kept[-1]), len(name)
        check(library.request(self._handle(step), step.get("id"), keys, len(names),
                              milliseconds(step)))

    def do_cancel(self, step):
        check(library.cancel(self._handle(step), step.get("id")))

    def do_complete(self, step):
        count = ctypes.c_uint()
        check(library.complete(self._handle(step), *data(step, "key"), ctypes.byref(count)))
        return {"count": count.value}


if __name__ == "__main__":
    runner.main(Library())
