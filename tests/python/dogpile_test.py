#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The backend for dogpile.cache: values, mutexes, and regions that processes share."""

import os
import threading
import time

from tap import PATIENCE, BeltCase, Child, hashbelt, in_thread, main

from dogpile.cache import api, make_region
from dogpile.cache.api import NO_VALUE

import hashbelt.dogpile  # noqa: F401,F811


class Regions(BeltCase):
    def region(self, expires=None, **arguments):
        """A region in a belt, and the belt."""
        belt = self.make()
        region = make_region().configure("hashbelt", expiration_time=expires,
                                         arguments={"belt": belt.name, **arguments})
        return region, belt

    def test_values(self):
        """set, get and delete of one key and of many"""
        region, _ = self.region()
        region.set("a", {"x": (1, 2)})
        self.assertEqual((region.get("a"), region.get("b")), ({"x": (1, 2)}, NO_VALUE))
        region.set_multi({"b": 2, "c": None})
        self.assertEqual(region.get_multi(["a", "b", "c", "d"]),
                         [{"x": (1, 2)}, 2, None, NO_VALUE])
        region.delete("a")
        region.delete("a")
        region.delete_multi(["b", "d"])
        self.assertEqual(region.get_multi(["a", "b", "c"]), [NO_VALUE, NO_VALUE, None])

    def test_expiration(self):
        """an entry lives for the argument expiration_time, None for ever, or the belt's own"""
        for arguments, left in (({}, 3600.0), ({"expiration_time": 60}, 60.0),
                                ({"expiration_time": None}, None)):
            region, belt = self.region(**arguments)
            region.set("a", 1)
            region.set_multi({"b": 2})
            self.assertEqual((belt.entry("a").ttl, belt.entry("b").ttl), (left, left))

    def test_keys(self):
        """keys of any length: two that differ in the last of 5000 characters are two"""
        region, _ = self.region()
        region.set_multi({"k" * 5000 + end: end for end in "ab"})
        self.assertEqual(region.get_multi(["k" * 5000 + "a", "k" * 5000 + "b"]), ["a", "b"])
        self.assertEqual(region.get_or_create("k" * 1020, lambda: "c"), "c")

    def test_create(self):
        """get_or_create: of 6 processes, one computes, and the others get its value"""
        region, belt = self.region()
        self.one_computes(lambda: region.get_or_create("key", lambda: belt.incr("computed")), 6)

    def test_old_value(self):
        """while one caller computes an expired value anew, the others get the old one"""
        region, _ = self.region(expires=0.001)
        region.set("key", "old")
        time.sleep(0.01)

        def compute():
            self.assertEqual(region.get_or_create("key", lambda: "other"), "old")
            return "new"

        self.assertEqual(region.get_or_create("key", compute), "new")

    def test_multi(self):
        """get_or_create_multi computes what is absent"""
        region, _ = self.region()
        region.set("b", "B")
        self.assertEqual(region.get_or_create_multi(
            ["a", "b", "c"], lambda *keys: [key.upper() * 2 for key in keys]), ["AA", "B", "CC"])


# dogpile.cache 1.1 takes no error of a deserializer as a miss.
if hasattr(api, "CantDeserializeException"):
    class Unreadable(BeltCase):
        def test_unreadable(self):
            """a value that cannot be unpickled is a miss"""
            belt = self.make()
            region = make_region().configure("hashbelt", arguments={"belt": belt.name})
            region.set("key", "value")
            # The pickle of a class of a module that is gone.
            belt["key"] = belt["key"].partition(b"|")[0] + b"|cno_such_module\nName\n."
            self.assertEqual((region.get("key"), region.get_or_create("key", lambda: "new"),
                              region.get("key")), (NO_VALUE, "new", "new"))


class Mutexes(BeltCase):
    def backend(self, **arguments):
        """A backend on a belt, and the belt."""
        belt = self.make()
        return make_region().configure("hashbelt", arguments={"belt": belt.name, **arguments}
                                       ).backend, belt

    def test_mutex(self):
        """one caller has a mutex, until release"""
        backend, _ = self.backend()
        one, two = backend.get_mutex("key"), backend.get_mutex("key")
        self.assertFalse(one.locked())
        self.assertTrue(one.acquire())
        self.assertEqual((one.locked(), two.locked(), two.acquire(False), one.acquire(False)),
                         (True, True, False, False))
        self.assertTrue(backend.get_mutex("other").acquire(False))
        wait = in_thread(two.acquire)
        one.release()
        self.assertEqual((wait(), one.acquire(False)), (True, False))
        two.release()
        self.assertFalse(one.locked())

    def test_killed(self):
        """the mutex of a process that is killed goes to the next waiter"""
        backend, _ = self.backend()

        def work(say):
            say(backend.get_mutex("key").acquire())
            time.sleep(1000)

        child = Child(work)
        self.assertEqual(child.hear(), "True")
        self.assertFalse(backend.get_mutex("key").acquire(False))
        wait = in_thread(backend.get_mutex("key").acquire)
        child.kill()
        self.assertTrue(wait())

    def test_timeout(self):
        """a mutex ends after lock_timeout, and its late release does not end the next one's"""
        backend, belt = self.backend(lock_timeout=5)
        one, two = backend.get_mutex("key"), backend.get_mutex("key")
        self.assertTrue(backend.has_lock_timeout())
        self.assertTrue(one.acquire())
        belt.advance(4.999)
        self.assertFalse(two.acquire(False))
        belt.advance(0.001)
        self.assertTrue(two.acquire(False))
        one.release()
        self.assertTrue(two.locked())

    def test_local(self):
        """with distributed_lock=False dogpile uses a mutex of threads"""
        backend, _ = self.backend(distributed_lock=False)
        self.assertEqual((backend.get_mutex("key"), backend.has_lock_timeout()), (None, False))

    def test_runner(self):
        """a mutex that an async_creation_runner takes over is released in its thread"""
        belt = self.make()
        done = threading.Event()

        def run(cache, key, creator, mutex):
            def create():
                cache.set(key, creator())
                mutex.release()
                done.set()
            threading.Thread(target=create).start()

        region = make_region(async_creation_runner=run).configure(
            "hashbelt", expiration_time=0.001, arguments={"belt": belt.name, "owner": os.getuid()})
        region.set("key", "old")
        time.sleep(0.01)
        self.assertEqual(region.get_or_create("key", lambda: "new"), "old")
        self.assertTrue(done.wait(PATIENCE))
        self.assertFalse(region.backend.get_mutex("key").locked())


main()
