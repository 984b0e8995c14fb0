#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The cache for cachelib: timeouts, conditions, counters, many keys, prefixes."""

from tap import BeltCase, Child, hashbelt, main

from cachelib import SimpleCache

from hashbelt.cachelib import BeltCache, flask_caching

# The pickle of a class of a module that is gone.
GONE = b"cno_such_module\nName\n."


class CacheLib(BeltCase):
    def cache(self, prefix="", serializer=None, **settings):
        """A cache, and the belt that has its values."""
        belt = self.make(**settings)
        return BeltCache(belt.name, key_prefix=prefix, serializer=serializer), belt

    def test_values(self):
        """set and get: values of any type, None for a missing key"""
        cache, belt = self.cache()
        for value in (5, -7, 2 ** 63, True, 1.5, "text", b"12", "12", None, [1, {"a": (2,)}]):
            self.assertIs(cache.set("key", value), True)
            self.assertEqual(cache.get("key"), value)
            self.assertIs(type(cache.get("key")), type(value))
        self.assertIsNone(cache.get("other"))
        self.assertEqual((cache.has("key"), cache.has("other")), (True, False))
        self.assertEqual((cache.delete("key"), cache.delete("key")), (True, False))
        cache.set("key", 5)
        self.assertEqual(belt["key"], b"5")

    def test_timeouts(self):
        """a timeout: seconds, None for the default, 0 and -1 for never, less for gone at once"""
        cache, belt = self.cache()
        for timeout, left in ((60, 60.0), (None, 300.0), (0, None), (-1, None), (10 ** 10, None)):
            for store in (cache.set, cache.add, lambda key, value, timeout:
                          cache.set_many({key: value}, timeout)):
                cache.delete("key")
                self.assertTrue(store("key", 1, timeout))
                self.assertEqual(belt.entry("key").ttl, left)
        self.assertEqual((cache.add("key", 1, -2), cache.set("key", 1, -2)), (False, True))
        self.assertEqual((cache.has("key"), cache.add("key", 1, -2)), (False, True))
        self.assertEqual((cache.set_many({"key": 1}, -2), cache.has("key")), (["key"], False))
        forever = BeltCache(belt.name, default_timeout=0)
        forever.set("key", 1)
        self.assertIsNone(belt.entry("key").ttl)

    def test_counters(self):
        """inc and dec begin at 0, keep the time-to-live, and take values of other types"""
        cache, belt = self.cache()
        self.assertEqual((cache.inc("n"), cache.inc("n", 41), cache.dec("n", 50)), (1, 42, -8))
        self.assertEqual((cache.get("n"), belt.entry("n").ttl), (-8, 300.0))
        cache.set("n", 1.5, 60)
        self.assertEqual((cache.inc("n"), cache.get("n"), belt.entry("n").ttl), (2.5, 2.5, 60.0))
        cache.set("n", 2 ** 63 - 1)
        self.assertEqual((cache.inc("n"), cache.inc("n")), (2 ** 63, 2 ** 63 + 1))
        cache.set("n", "text")
        self.assertRaises(TypeError, cache.inc, "n")

    def test_counters_of_many(self):
        """no addition of 4 processes is lost, be the value an int or not"""
        cache, _ = self.cache()
        cache.set("float", 0.5)

        def work(say):
            for _ in range(50):
                cache.inc("int")
                cache.inc("float")

        children = [Child(work) for _ in range(4)]
        self.assertEqual([child.status() for child in children], [0] * 4)
        self.assertEqual((cache.get("int"), cache.get("float")), (200, 200.5))

    def test_many(self):
        """get_many, get_dict, set_many and delete_many: what was found, stored, removed"""
        cache, _ = self.cache()
        self.assertEqual(cache.set_many({"a": 1, "b": "two"}), ["a", "b"])
        self.assertEqual(cache.get_many("a", "c", "b", "a"), [1, None, "two", 1])
        self.assertEqual(cache.get_dict("a", "c"), {"a": 1, "c": None})
        # From 0.17 on, cachelib counts a key that was absent among the removed ones.
        simple = SimpleCache()
        simple.set_many({"a": 1, "b": "two"})
        self.assertEqual(cache.delete_many("a", "c", "b"), simple.delete_many("a", "c", "b"))
        self.assertEqual(cache.get_many("a", "b"), [None, None])

    def test_prefix(self):
        """clear removes the keys of its prefix; without a prefix, all"""
        cache, belt = self.cache("one:")
        other = BeltCache(belt.name)
        cache.set_many({"a": 1, "b": 2})
        other.set("a", 3)
        self.assertEqual(sorted(belt), [b"a", b"one:a", b"one:b"])
        self.assertEqual((cache.clear(), list(belt)), (True, [b"a"]))
        self.assertEqual((other.clear(), list(belt)), (True, []))

    def test_full(self):
        """in a full belt set and add return False, set_many what was stored, and inc None"""
        cache, _ = self.cache(max_entries=2)
        cache.set("a", 1)
        self.assertEqual(cache.set_many({"b": 2, "c": 3, "a": 4}), ["b", "a"])
        self.assertEqual((cache.set("c", 3), cache.add("c", 3), cache.inc("c")),
                         (False, False, None))
        self.assertEqual(cache.get_many("a", "b", "c"), [4, 2, None])

    def test_keys(self):
        """keys of any length: two that differ in the last of 5000 characters are two"""
        cache, _ = self.cache()
        for end in "ab":
            cache.set("k" * 5000 + end, end)
        self.assertEqual(cache.get_many("k" * 5000 + "a", "k" * 5000 + "b"), ["a", "b"])

    def test_errors(self):
        """what the belt refuses for another reason is raised"""
        cache, belt = self.cache()
        self.assertRaises(hashbelt.TooLarge, cache.set, "key", bytes(1 << 20))
        self.assertRaises(hashbelt.NoBelt, BeltCache, "absent")
        self.assertRaises(hashbelt.NotAllowed, BeltCache, belt.name, owner=4711)

    def test_serializer(self):
        """with a serializer the belt has its bytes, and no pickle"""
        cache, belt = self.cache(serializer=hashbelt.JSON())
        cache.set("key", {"a": [1]})
        self.assertEqual((belt["key"], cache.get("key")), (b'{"a":[1]}', {"a": [1]}))

    def test_flask_caching(self):
        """flask_caching makes the cache of Flask-Caching with its arguments"""
        belt = self.make()
        options = {"default_timeout": 7}
        # The call of Flask-Caching 2.3, and that of 2.5.
        for cache in (flask_caching(None, {}, [belt.name], options),
                      flask_caching(belt.name, ignore_delete_many_errors=False, **options)):
            cache.set("key", 1)
            self.assertEqual(belt.entry("key").ttl, 7.0)
            cache.delete_many("key", "absent")
            self.assertEqual(list(belt), [])

    def test_unreadable(self):
        """a value that cannot be unpickled is a miss"""
        cache, belt = self.cache()
        belt["key"] = GONE
        self.assertEqual((cache.get("key"), cache.get_many("key"), cache.get_dict("key")),
                         (None, [None], {"key": None}))
        self.assertEqual((cache.inc("key", 5), cache.get("key")), (5, 5))
        belt["key"] = GONE
        self.assertEqual((cache.set("key", 1), cache.get("key")), (True, 1))


main()
