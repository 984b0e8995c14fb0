#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The cache backend for Django: what Django's own tests (full/own.py) do not try."""

import asyncio
import threading
import time
import warnings

from tap import BeltCase, hashbelt, in_thread, main

import django
from django.conf import settings
from django.core.cache import CacheKeyWarning, caches
from django.test.utils import override_settings

from hashbelt.django import BeltCache

# The pickle of a class of a module that is gone.
GONE = b"cno_such_module\nName\n."
# pytest imports this file once more.
if not settings.configured:
    settings.configure(CACHES={"default": {"BACKEND": "hashbelt.django.BeltCache"}})
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

    def test_one_computes(self):
        """get_or_set: of 6 processes, one calls the default, and the others get its result"""
        cache, belt = self.cache()
        self.one_computes(lambda: cache.get_or_set("key", lambda: belt.incr("computed")), 6)

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
