#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""python_runner.py FILE - run the cases of a file with the package hashbelt for Python."""

import asyncio
import queue
import select
import threading
import time

import belts
import runner
from belts import NAME, hashbelt
from runner import Refused, as_user, error_name

PATIENCE = 60   # seconds after which a call that should not wait has failed
# Conditions of a touch on the deadline, and that it adds.
TOUCHING = ("add", "if_lasting", "if_expiring", "if_later", "if_sooner")
TTLS = {"never": None, "keep": hashbelt.KEEP, "belt": hashbelt.BELT, None: hashbelt.BELT}


def ttl(step, name="ttl"):
    """A time of a step as the package takes it."""
    value = step.get(name)
    return TTLS[value] if value is None or isinstance(value, str) else value


def present(found):
    """Refuse with ENOENT if a call has told that there is no entry."""
    if not found:
        raise Refused("ENOENT")


class Fill:
    """A call of get_or_set() that computes in a thread, until it is told the value."""

    def __init__(self, belt, key, lease):
        self._granted = queue.Queue()
        self._value = queue.Queue()
        self._thread = threading.Thread(target=self._run, args=(belt, key, lease), daemon=True)
        self._thread.start()
        self.answer = self._granted.get(timeout=PATIENCE)

    def _compute(self):
        self._granted.put({"value": None, "granted": True})
        value = self._value.get()
        if value is None:
            raise InterruptedError
        return value

    def _run(self, belt, key, lease):
        try:
            value = belt.get_or_set(key, self._compute, lease=lease, timeout=0)
            self._granted.put({"value": value, "granted": False})
        except hashbelt.FillTimeout:
            self._granted.put({"value": None, "granted": False})
        except InterruptedError:
            pass
        except hashbelt.Error as error:
            self._granted.put(error)

    def end(self, value):
        """Return the value from the computation; None: let it fail."""
        self._value.put(value)
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            raise RuntimeError("get_or_set() has not returned")


class Waiter:
    """A handle with requests, which are futures of an event loop of its own."""

    def __init__(self):
        self.belt = hashbelt.open(NAME)
        self._loop = asyncio.new_event_loop()
        self._futures = {}
        self._ended = []

    async def _register(self, number, keys, time):
        future = self.belt.wait_for(*keys, ttl=time)
        self._futures[number] = future
        future.add_done_callback(lambda done: self._ended.append((number, done)))

    async def _turn(self):
        # Not more than a few turns lie between an event and the callback of its future.
        for _ in range(5):
            await asyncio.sleep(0)

    def request(self, number, keys, time):
        """Wait for keys."""
        self._loop.run_until_complete(self._register(number, keys, time))

    def cancel(self, number):
        """Cancel a request. Returns whether it was waiting."""
        return self._futures[number].cancel()

    def completed(self, wanted):
        """The requests that have ended since the last call, but those that were cancelled.

        Waits for as many as are WANTED.
        """
        deadline = time.monotonic() + PATIENCE
        self._loop.run_until_complete(self._turn())
        while len(self._ended) < wanted and time.monotonic() < deadline:
            self._loop.run_until_complete(self._turn())
        ended, self._ended = self._ended, []
        return [{"id": number, "cause": future.result().cause.name.lower(),
                 "key": future.result().key} for number, future in ended if not future.cancelled()]

    def close(self):
        """Close the handle, which ends its requests."""
        self.belt.close()
        self._loop.run_until_complete(self._turn())
        self._loop.close()


class Package:
    """The operations. An error of the package becomes that of the case by its number."""

    def __init__(self):
        self._belts = {}
        self._users = {}
        self._events = {}
        self._fills = {}
        self._settings = {}

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if not name.startswith("do_"):
            return found

        def operation(step):
            try:
                return found(step)
            except hashbelt.Error as error:
                raise Refused(error_name(error.errno)) from error
        return operation

    def begin(self, settings):
        """Make the belt of a case, and the handle "main"."""
        self._belts, self._users, self._events, self._fills = {}, {}, {}, {}
        self._settings = settings
        self._belts["main"] = belts.begin(settings)

    def end(self):
        """Close all handles, and destroy the belt, if the case has not."""
        for fill in self._fills.values():
            fill.end(None)
        for handle in (*self._belts.values(), *self._events.values()):
            handle.close()
        belts.end()

    def close(self):
        """Called at the end."""

    def _belt(self, step):
        return self._belts[step.who()]

    def do_open(self, step):
        with as_user(step.get("user")):
            self._belts[step.who()] = hashbelt.open(NAME)
        self._users[step.who()] = step.get("user")

    def do_close(self, step):
        (self._belts.pop(step.who(), None) or self._events.pop(step.who())).close()

    def do_create(self, step):
        belts.create(self._settings)

    def do_destroy(self, step):
        with as_user(self._users.get(step.who())):
            hashbelt.destroy(NAME)

    def do_put(self, step):
        belt, key, value = self._belt(step), step.bytes("key"), step.bytes("value")
        if step.get("if_absent"):
            if not belt.add(key, value, ttl(step)):
                raise Refused("EEXIST")
            return {}
        if step.get("if_present"):
            present(belt.replace(key, value, ttl(step)))
            return {}
        return {"version": belt.set(key, value, ttl(step), version=step.get("if_version"),
                                    bound=step.get("bound", False))}

    def do_get(self, step):
        entry = self._belt(step).entry(step.bytes("key"))
        present(entry is not None)
        return {"value": entry.value, "version": entry.version,
                "ttl": "never" if entry.ttl is None else entry.ttl}

    def do_has(self, step):
        present(step.bytes("key") in self._belt(step))

    def do_touch(self, step):
        belt, key = self._belt(step), step.bytes("key")
        more = {name: step.get(name) for name in TOUCHING if step.get(name) is not None}
        version = step.get("if_version")
        if belt.touch(key, ttl(step), version=version, **more):
            return
        # False tells of a missing entry, and of one whose deadline does not meet the condition.
        present(key in belt)
        raise Refused("EALREADY")

    def do_touch_bound(self, step):
        return {"count": self._belt(step).touch_bound(ttl(step))}

    def do_remove(self, step):
        present(self._belt(step).delete(step.bytes("key"), version=step.get("if_version"),
                                        stale=step.get("stale", False)))

    def do_expire(self, step):
        present(self._belt(step).expire(step.bytes("key")))

    def do_add(self, step):
        return {"sum": self._belt(step).incr(step.bytes("key"), step.get("by"),
                                             initial=step.get("initial", 0), ttl=ttl(step),
                                             minimum=step.get("floor"),
                                             if_present=step.get("if_present", False))}

    def do_put_many(self, step):
        values = dict(zip(step.all_bytes("keys"), step.all_bytes("values")))
        self._belt(step).set_many(values, ttl(step))

    def do_get_many(self, step):
        keys = step.all_bytes("keys")
        found = self._belt(step).get_many(keys)
        return {"values": [found.get(key) for key in keys]}

    def do_remove_many(self, step):
        return {"removed": self._belt(step).delete_many(step.all_bytes("keys"))}

    def do_clear(self, step):
        self._belt(step).clear()

    def do_scan(self, step):
        return {"keys": sorted(self._belt(step))}

    def do_info(self, step):
        info = self._belt(step).info()
        return {"entries": info.entries, "ttl": info.ttl_ms / 1000, "grace": info.grace_ms / 1000,
                "max_entries": info.max_entries, "locks": info.locks, "requests": info.requests,
                "halted": bool(info.state & hashbelt.abi.HALTED)}

    def do_stat(self, step):
        return self._belt(step).stat()

    def do_set(self, step):
        settings = {name: step.get(name) for name in ("ttl", "max_entries") if name in step.members}
        self._belt(step).configure(**settings)

    def do_advance(self, step):
        self._belt(step).advance(step.get("time"))

    def do_rotate(self, step):
        self._belt(step).rotate()

    def do_fill(self, step):
        fill = Fill(self._belt(step), step.bytes("key"), step.get("lease"))
        if isinstance(fill.answer, Exception):
            raise fill.answer
        if fill.answer["granted"]:
            self._fills[step.who(), step.bytes("key")] = fill
        return fill.answer

    def do_offer(self, step):
        self._fills.pop((step.who(), step.bytes("key"))).end(step.bytes("value"))

    def do_give_up(self, step):
        self._fills.pop((step.who(), step.bytes("key"))).end(None)

    def _lock(self, step):
        return self._belt(step).lock(step.bytes("name"), ttl(step), 0, owner=step.bytes("owner"))

    def do_lock(self, step):
        return {"token": self._lock(step).acquire()}

    def do_unlock(self, step):
        self._lock(step).release()

    def do_renew(self, step):
        self._lock(step).renew()

    @staticmethod
    def _event(event):
        found = {"key": event.key, "value": event.value, "reason": event.reason.name.lower(),
                 "sequence": event.sequence, "lost": event.lost, "version": event.version,
                 "kind": "lock" if event.is_lock else "entry"}
        return {**found, "owner": event.value} if event.is_lock else found

    def do_events(self, step):
        with self._belt(step).events() as events:
            poller = select.poll()
            poller.register(events, select.POLLIN)
            found = []
            while True:
                event = events.poll()
                if event is not None:
                    found.append(self._event(event))
                elif len(found) >= step.expected("events") or not poller.poll(PATIENCE * 1000):
                    return {"events": found}

    def do_watch(self, step):
        if step.get("requests"):
            self._events[step.who()] = Waiter()
        else:
            self._events[step.who()] = self._belts["main"].events(ack=True)

    def do_event(self, step):
        event = self._events[step.who()].poll()
        if event is None:
            raise Refused("EAGAIN")
        return self._event(event)

    def do_ack(self, step):
        self._events[step.who()].acknowledge(hashbelt.Event(
            b"", b"", hashbelt.Reason.EXPIRED, step.get("sequence"), 0, 0, None, False))

    def do_request(self, step):
        self._events[step.who()].request(step.get("id"), step.all_bytes("keys"), ttl(step))

    def do_cancel(self, step):
        present(self._events[step.who()].cancel(step.get("id")))

    def do_complete(self, step):
        return {"count": self._belt(step).complete(step.bytes("key"))}

    def do_completed(self, step):
        return {"requests": self._events[step.who()].completed(step.expected("requests"))}


if __name__ == "__main__":
    runner.main(Package())
