#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The cache backend for Django: what Django's own tests do not try, and cached sessions."""

import asyncio
import os
import threading
import time
import warnings

from reloaded import age, reload
from tap import PATIENCE, BeltCase, Child, hashbelt, in_thread, main

import django
from django.conf import settings
from django.core.cache import CacheKeyWarning, caches
from django.test.utils import override_settings

from hashbelt.django import BeltCache

# The pickle of a class of a module that is gone.
GONE = b"cno_such_module\nName\n."
# pytest imports this file once more.
if not settings.configured:
    settings.configure(CACHES={"default": {"BACKEND": "hashbelt.django.BeltCache"}},
                       SESSION_ENGINE="django.contrib.sessions.backends.cache",
                       INSTALLED_APPS=["django.contrib.sessions"])
    django.setup()


class Backend(BeltCase):
    def cache(self, **parameters):
        """A cache, and the belt that has its values."""
        belt = self.make()
        return BeltCache(belt.name, parameters), belt

    def test_timeouts(self):
        """a timeout: seconds, None for never, 0 or less for gone at once, or TIMEOUT's"""
        cache, belt = self.cache(TIMEOUT=40)
        for timeout, left in ((60, 60.0), (0.5, 0.5), (None, None), (10 ** 10, None)):
            cache.set("key", 1, timeout)
            self.assertEqual(belt.entry(":1:key").ttl, left)
            cache.set("key", 1)
            self.assertEqual(belt.entry(":1:key").ttl, 40.0)
            self.assertTrue(cache.touch("key", timeout))
            self.assertEqual(belt.entry(":1:key").ttl, left)
            cache.delete("key")
            self.assertTrue(cache.add("key", 1, timeout))
            self.assertEqual(belt.entry(":1:key").ttl, left)
        for timeout in (0, -1):
            for end in (cache.touch, lambda key, timeout: cache.set(key, 1, timeout),
                        lambda key, timeout: cache.set_many({key: 1}, timeout)):
                cache.set("key", 1)
                end("key", timeout)
                self.assertNotIn("key", cache)
            self.assertEqual((cache.touch("key", timeout), cache.add("key", 1, timeout)),
                             (False, True))
            self.assertEqual(cache.get_or_set("key", lambda: 5, timeout), 5)
            self.assertEqual(list(belt), [])
            cache.set("other", 1)
            self.assertFalse(cache.add("other", 2, timeout))
            cache.clear()
            self.assertEqual(list(belt), [])

    def test_belts_own(self):
        """TIMEOUT=None: entries without a timeout do not expire; without TIMEOUT, after 300 s"""
        for parameters, left in (({"TIMEOUT": None}, None), ({}, 300.0)):
            cache, belt = self.cache(**parameters)
            cache.set("key", 1)
            self.assertEqual(belt.entry(":1:key").ttl, left)

    def test_numbers(self):
        """incr adds to integers in decimal and to other numbers, and keeps the time-to-live"""
        cache, belt = self.cache()
        for value in (41, -1, 2 ** 63 - 1, 2 ** 70, 0.5, True):
            cache.set("key", value, 60)
            self.assertIs(type(cache.get("key")), type(value))
            self.assertEqual((cache.incr("key", 3), cache.get("key")), (value + 3, value + 3))
            self.assertEqual(belt.entry(":1:key").ttl, 60.0)
        cache.set("key", 41)
        self.assertEqual(belt[":1:key"], b"41")
        cache.set("key", "41")
        self.assertEqual(cache.get("key"), "41")
        self.assertRaises(TypeError, cache.incr, "key")
        cache.set("none", None)
        self.assertRaises(TypeError, cache.incr, "none")
        self.raises(ValueError, "Key 'other' not found", cache.incr, "other")
        self.raises(ValueError, "Key 'other' not found", cache.decr, "other")

    def test_incr_of_many(self):
        """no incr of 4 processes is lost"""
        cache, _ = self.cache()
        cache.set("key", 0)
        children = [Child(lambda say: [cache.incr("key") for _ in range(50)]) for _ in range(4)]
        self.assertEqual([child.status() for child in children], [0] * 4)
        self.assertEqual(cache.get("key"), 200)

    def test_one_computes(self):
        """get_or_set: of 6 processes, one calls the default, and the others get its result"""
        cache, belt = self.cache()

        def work(say):
            say("begun")
            say(cache.get_or_set("key", lambda: belt.incr("computed")))

        children = [Child(work) for _ in range(6)]
        self.assertEqual([child.hear() for child in children], ["begun"] * 6)
        self.assertEqual([child.hear() for child in children], ["1"] * 6)
        self.assertEqual([child.status() for child in children], [0] * 6)

    def test_late(self):
        """what get_or_set has computed before a delete of the key is not stored"""
        cache, _ = self.cache()
        begun, go_on = threading.Event(), threading.Event()

        def compute():
            begun.set()
            go_on.wait(PATIENCE)
            return "late"

        wait = in_thread(lambda: cache.get_or_set("key", compute))
        self.assertTrue(begun.wait(PATIENCE))
        cache.delete("key")
        go_on.set()
        self.assertEqual((wait(), cache.get("key")), ("late", None))

    def test_unreadable(self):
        """a value that cannot be unpickled is a miss"""
        cache, belt = self.cache()
        for read, found in ((lambda: cache.get("key", "other"), "other"),
                            (lambda: cache.get_many(["key"]), {}),
                            (lambda: cache.get_or_set("key", lambda: 5), 5),
                            (lambda: cache.get_or_set("key", 6), 6)):
            belt[":1:key"] = GONE
            self.assertEqual(read(), found)
        belt[":1:key"] = GONE
        self.raises(ValueError, "Key 'key' not found", cache.incr, "key")

    def test_incr_ends(self):
        """incr of a key that is removed meanwhile finds no key"""
        cache, belt = self.cache()
        cache.set("key", 1.5)
        entry = cache._belt.entry

        def late(key):
            cache._belt.entry = entry
            found = entry(key)
            belt.clear()
            return found

        cache._belt.entry = late
        self.raises(ValueError, "Key 'key' not found", cache.incr, "key")

    def test_reload(self):
        """a dump keeps values and numbers, and what is left of their times"""
        cache, belt = self.cache(TIMEOUT=60)
        age(belt)
        cache.set_many({"value": ["text", 1.5], "number": 41})
        belt.advance(20)
        belt = reload(belt)
        self.addCleanup(belt.close)
        cache = BeltCache(belt.name, {"OPTIONS": {"owner": os.getuid()}})
        self.assertEqual((cache.get("value"), cache.incr("number")), (["text", 1.5], 42))
        self.assertEqual(belt.entry(":1:number").ttl, 40.0)
        belt.advance(40)
        self.assertEqual(cache.get_many(["value", "number"]), {})

    def test_keys(self):
        """a key of over 250 characters warns as Django's backends do, and any length works"""
        cache, _ = self.cache()
        for end in "ab":
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                cache.set("k" * 5000 + end, end)
            self.assertEqual([one.category for one in caught], [CacheKeyWarning])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(cache.get_many(["k" * 5000 + "a", "k" * 5000 + "b"]),
                             {"k" * 5000 + "a": "a", "k" * 5000 + "b": "b"})

    def test_options(self):
        """OPTIONS: the owner and the serializer; an unknown option is an error"""
        cache, belt = self.cache(OPTIONS={"serializer": "hashbelt.JSON", "MAX_ENTRIES": 5})
        cache.set("key", {"a": 1})
        self.assertEqual((belt[":1:key"], cache.get("key")), (b'{"a":1}', {"a": 1}))
        self.assertRaises(hashbelt.NotAllowed, BeltCache, belt.name, {"OPTIONS": {"owner": 4711}})
        self.raises(TypeError, "onwer", BeltCache, belt.name, {"OPTIONS": {"onwer": 0}})

    def test_shared(self):
        """threads, and settings of one belt, share a descriptor, and close leaves it open"""
        cache, belt = self.cache()
        with override_settings(CACHES={"default": {"BACKEND": "hashbelt.django.BeltCache",
                                                   "LOCATION": belt.name, "KEY_PREFIX": "x"}}):
            other = in_thread(lambda: caches["default"])()
            self.assertIsNot(other, caches["default"])
            self.assertIs(other._belt, cache._belt)
            other.set("key", 1)
            other.close()
            self.assertEqual((list(belt), other.get("key")), ([b"x:1:key"], 1))

    def test_errors(self):
        """a belt that is absent or full is an error with a sentence"""
        self.raises(hashbelt.NoBelt, "there is no belt 'absent'", BeltCache, "absent", {})
        cache = BeltCache(self.make(max_entries=1).name, {})
        cache.set("a", 1)
        self.raises(hashbelt.Full, "is full", cache.set, "b", 1)
        self.raises(hashbelt.Full, "is full", cache.set_many, {"b": 1})

    def test_sessions(self):
        """a session that one process saves is loaded by another, and expires with its age"""
        from django.contrib.sessions.backends.cache import SessionStore
        belt = self.make()
        with override_settings(CACHES={"default": {"BACKEND": "hashbelt.django.BeltCache",
                                                   "LOCATION": belt.name}}):
            session = SessionStore()
            session["user"] = "alice"
            session.set_expiry(600)
            session.save()
            key = session.session_key
            child = Child(lambda say: say(SessionStore(key).get("user")))
            self.assertEqual((child.hear(), child.status()), ("alice", 0))
            belt.advance(600)
            self.assertIsNone(SessionStore(key).get("user"))


# Django 3.2 has no async methods.
if django.VERSION >= (4, 0):
    class Async(BeltCase):
        def test_aget_or_set(self):
            """aget_or_set: of 40 tasks, one calls the default, and the others get its result"""
            cache = BeltCache(self.make().name, {})
            calls = []

            def compute():
                calls.append(1)
                time.sleep(0.05)
                return "value"

            async def many():
                return await asyncio.gather(*(cache.aget_or_set("key", compute) for _ in range(40)))

            self.assertEqual((asyncio.run(many()), calls), (["value"] * 40, [1]))

        def test_methods(self):
            """each async method does what the other one does, in the thread of the event loop"""
            cache = BeltCache(self.make().name, {})
            threads = threading.active_count()
            for name, arguments, result in (
                    ("aset", ("a", 1), None), ("aget", ("a",), 1), ("aadd", ("a", 2), False),
                    ("aincr", ("a", 4), 5), ("adecr", ("a",), 4), ("atouch", ("a", 60), True),
                    ("ahas_key", ("a",), True), ("aset_many", ({"b": 2, "c": 3},), []),
                    ("aget_many", (["a", "b", "x"],), {"a": 4, "b": 2}),
                    ("aincr_version", ("b",), 2), ("adecr_version", ("b", 1, 2), 1),
                    ("adelete", ("a",), True), ("adelete_many", (["b"],), None),
                    ("aget_or_set", ("b", "B"), "B"), ("aclear", (), None),
                    ("ahas_key", ("c",), False), ("aclose", (), None)):
                self.assertEqual(asyncio.run(getattr(cache, name)(*arguments)), result)
                self.assertEqual(threading.active_count(), threads)


main()
