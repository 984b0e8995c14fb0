#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Copies, pickles and arguments of other processes: belts are opened anew, no handle is copied."""

import copy
import dataclasses
import gc
import importlib
import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor

from tap import BeltCase, Child, hashbelt, main

import pooled


@dataclasses.dataclass
class Site:
    """A structure with a belt as a member."""

    name: str
    belt: hashbelt.Belt


def copies(thing):
    """Three copies: shallow, deep, and by pickle."""
    return copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))


class Copies(BeltCase):
    def test_belt(self):
        """a copy of a belt has its name, settings and serializer, and a descriptor of its own"""
        belt = self.make(hashbelt.JSON())
        belt["key"] = [1]
        with hashbelt.open(belt.name, hashbelt.JSON(), owner=0) as owned:
            for other in copies(owned):
                self.assertEqual((other.name, other["key"]), (belt.name, [1]))
                self.assertIsInstance(other.serializer, hashbelt.JSON)
                self.assertNotEqual(other.fileno(), owned.fileno())
                self.assertEqual(other._device.settings(), owned._device.settings())
                other.close()
                self.assertEqual(owned["key"], [1])
            others = copies(owned)
        for other in others:
            self.assertEqual(other["key"], [1])
            other.close()
        for call in (copy.copy, copy.deepcopy, pickle.dumps):
            self.raises(ValueError, "is closed: open it again", call, owned)

    def test_asdict(self):
        """dataclasses.asdict and deepcopy of what has a belt leave the belt open"""
        belt = self.make()

        def use(say):
            site = Site("shop", hashbelt.open(belt.name))
            found = dataclasses.asdict(site)
            found["belt"]["key"] = b"value"
            del found
            again = copy.deepcopy({"sites": [site, site]})
            again["sites"][0].belt.close()
            del again
            gc.collect()
            number = site.belt.fileno()
            say(site.belt.get("key").decode())
            site.belt.close()
            say(os.path.exists(f"/proc/self/fd/{number}"))

        child = Child(use)
        self.assertEqual((child.hear(), child.hear(), child.hear(), child.status()),
                         ("value", "False", "", 0))

    def test_lock(self):
        """a deep copy of a lock has its name, settings and owner, and is not held"""
        belt = self.make(policy=hashbelt.abi.PINNED)
        lock = belt.lock("name", ttl=60, timeout=0, owner="a")
        with lock:
            for other in copies(lock)[1:]:
                self.raises(hashbelt.LockLost, "", getattr, other, "token")
                self.assertEqual(other.acquire(), lock.token)
            self.assertEqual(copy.copy(lock).token, lock.token)
        self.assertEqual(belt.info().locks, 0)
        for other in copies(belt.lock("name", ttl=60, timeout=0)):
            with other:
                self.assertEqual(belt.info().locks, 1)
                self.assertRaises(hashbelt.LockTimeout,
                                  belt.lock("name", owner="b", timeout=0).acquire)

    def test_cached(self):
        """a copy of a cached function is that function, as of any function"""
        belt = self.make()

        @belt.cached(key=lambda: "value")
        def value():
            return b"value"

        self.assertIs(copy.copy(value), value)
        self.assertIs(copy.deepcopy([value])[0], value)
        self.assertRaises((pickle.PicklingError, AttributeError), pickle.dumps, value)

    def test_refused(self):
        """events and handles are not copied, and the error says what to do"""
        belt = self.make(handler=hashbelt.abi.NOTIFY)
        with belt.events() as events:
            for call in (copy.copy, copy.deepcopy, pickle.dumps):
                self.raises(TypeError, "call events() of the belt again", call, events)
                self.raises(TypeError, "copy the belt, which is opened anew", call,
                            belt._device.handle())

    def test_frameworks(self):
        """the backends for frameworks are copied with their belts, and close leaves the first"""
        belt = self.make()
        importlib.import_module("django.conf").settings.configure()
        for module, name, arguments, more in (
                ("cachelib", "BeltCache", (belt.name,), ""),
                ("dogpile", "BeltBackend", ({"belt": belt.name},), "_serialized"),
                ("django", "BeltCache", (belt.name, {}), "")):
            module = importlib.import_module(f"hashbelt.{module}")
            first = getattr(module, name)(*arguments)
            getattr(first, f"set{more}")("key", b"value")
            for other in copies(first):
                self.assertEqual(getattr(other, f"get{more}")("key"), b"value")
                del other
            gc.collect()
            self.assertEqual(getattr(first, f"get{more}")("key"), b"value")
            belt.clear()

    def test_values(self):
        """times-to-live, entries and errors come back from a pickle as they were"""
        belt = self.make()
        belt["key"] = b"value"
        for thing in (hashbelt.BELT, hashbelt.KEEP):
            self.assertEqual([copied is thing for copied in copies(thing)], [True] * 3)
        self.assertEqual(copies(belt.entry("key")), (belt.entry("key"),) * 3)
        error = self.raises(hashbelt.Missing, "", belt.__getitem__, "absent")
        for copied in copies(error):
            self.assertEqual((type(copied), copied.errno, str(copied)),
                             (hashbelt.Missing, error.errno, str(error)))


class Processes(BeltCase):
    """Processes that do not share the memory of this one, which forkserver and spawn start."""

    def setUp(self):
        hashbelt.create(pooled.NAME, ttl=3600)
        self.addCleanup(hashbelt.destroy, pooled.NAME)
        os.environ["POOLED"] = "yes"
        importlib.reload(pooled)

    def test_pool(self):
        """a pool calls cached functions, and takes belts and locks; errors come back"""
        locks = self.make(policy=hashbelt.abi.PINNED)
        for method in ("forkserver", "spawn"):
            context = multiprocessing.get_context(method)
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                number, worker = pool.submit(pooled.double, 21).result()
                self.assertEqual((number, pooled.double(21)), (42, [42, worker]))
                self.assertNotEqual(worker, os.getpid())
                pool.submit(pooled.store, pooled.belt, "key").result()
                self.assertEqual(pooled.belt["key"], worker)
                lock = locks.lock("name", timeout=0)
                with lock:
                    self.assertEqual(pool.submit(pooled.take, lock).result(), "refused")
                self.assertEqual(pool.submit(pooled.take, lock).result(), "taken")
                self.raises(hashbelt.NoBelt, "no belt", pool.submit(
                    pooled.fail, self.raises(hashbelt.NoBelt, "", hashbelt.open, "absent")).result)
            pooled.double.invalidate(21)

    def test_threads(self):
        """threads that copy a belt at once close no descriptor of another one"""
        belt = self.make()
        belt["key"] = b"value"
        wrong = []

        def work():
            for _ in range(50):
                with copy.deepcopy(belt) as other:
                    if other.get("key") != b"value":
                        wrong.append(other)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ != "__mp_main__":       # in a process of multiprocessing, which imports this file
    main()
