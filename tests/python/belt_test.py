#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Belts as mappings: one key, many keys, the belt as a whole, serializers and errors."""

import pickle
import signal
from datetime import timedelta

from tap import BeltCase, hashbelt, main


class OneKey(BeltCase):
    def test_item(self):
        """a belt is a mapping: [], get, in, del, pop, setdefault, popitem, update, len, bool"""
        belt = self.make()
        belt["key"] = b"value"
        self.assertEqual([belt["key"], belt[b"key"], belt.get("key")], [b"value"] * 3)
        self.assertEqual((belt.get("other"), belt.get("other", 5), "other" in belt, 5 in belt),
                         (None, 5, False, False))
        del belt["key"]
        self.assertEqual((belt.setdefault("key", b"1"), belt.setdefault("key", b"2")),
                         (b"1", b"1"))
        self.assertEqual((belt.pop("key"), belt.pop("key", None)), (b"1", None))
        for call in (belt.popitem, lambda: belt.pop("key"), lambda: belt["key"]):
            self.assertRaises(KeyError, call)
        belt.update({"a": b"1"}, b=b"2")
        self.assertEqual((sorted(belt), len(belt)), ([b"a", b"b"], 2))
        belt.expire("a")
        self.assertEqual((belt.popitem(), list(belt), bool(belt)), ((b"b", b"2"), [], True))
        with hashbelt.open(belt.name) as other:
            self.assertEqual((belt == other, len({belt, other})), (False, 2))

    def test_errors(self):
        """each error has its class, which is one of Python's too, and a sentence"""
        belt, full = self.make(), self.make(max_entries=1)
        belt["text"] = full["a"] = b"text"
        old = belt.set("key", b"1")
        belt.set("key", b"2", version=old)
        belt["n"] = b"%d" % (2 ** 63 - 1)
        large, long = bytes((1 << 20) + 1), "k" * 1025
        for kind, also, text, call in (
                (hashbelt.Missing, KeyError, f"no entry of that key in belt '{belt.name}'",
                 lambda: belt["x"]),
                (hashbelt.Missing, KeyError, "no entry", lambda: belt.__delitem__("x")),
                (hashbelt.Missing, KeyError, "no entry", lambda: belt.decr("x", if_present=True)),
                (hashbelt.TooLarge, ValueError, "a key has 1 to 1024 bytes", lambda: belt.get("")),
                (hashbelt.TooLarge, ValueError, "a key has 1 to 1024", lambda: belt.get(long)),
                (hashbelt.TooLarge, ValueError, "at most 1048576", lambda: belt.set("k", large)),
                (TypeError, object, "a key is str or bytes, not int", lambda: belt.get(5)),
                (TypeError, object, "stores bytes, not str", lambda: belt.set("key", "text")),
                (hashbelt.Changed, OSError, "has another version than demanded: get it again",
                 lambda: belt.set("key", b"3", version=old)),
                (hashbelt.Changed, OSError, "", lambda: belt.delete("key", version=old)),
                (hashbelt.NotNumber, ValueError, "not a number", lambda: belt.incr("text")),
                (hashbelt.SumTooLarge, OverflowError, "64 bits", lambda: belt.incr("n")),
                (hashbelt.SumTooLarge, OSError, "64 bits", lambda: belt.incr("n", 2 ** 64)),
                (hashbelt.SumTooLarge, OSError, "", lambda: belt.incr("n", minimum=2 ** 63)),
                (hashbelt.Full, OSError, "raise that or let it evict", lambda: full.set("b", b"")),
                (hashbelt.NoEvents, OSError, "--on-expire notify", lambda: belt.events().poll()),
                (hashbelt.Error, OSError, "may drop locks", belt.lock("name").acquire),
                (hashbelt.NoBelt, FileNotFoundError, "there is no belt 'absent'",
                 lambda: hashbelt.open("absent")),
                (hashbelt.NotAllowed, PermissionError, "another owner than demanded",
                 lambda: hashbelt.open(belt.name, owner=1000)),
                (hashbelt.Exists, FileExistsError, "another name",
                 lambda: hashbelt.create(belt.name)),
                *((hashbelt.Error, OSError, "a belt's name has 1 to 63 bytes",
                   lambda name=name: hashbelt.open(name)) for name in ("n" * 64, "a/b", "a\0b"))):
            self.assertIsInstance(self.raises(kind, text, call), also)
        self.assertEqual((belt["key"], belt["text"], sorted(full)), (b"2", b"text", [b"a"]))

    def test_far_too_large(self):
        """the length of a key of 4 GiB and a byte is not cut to a byte"""
        with open("/proc/sys/vm/overcommit_memory", "w", encoding="ascii") as file:
            file.write("1")
        belt = self.make()
        belt[b"\0"] = b"of another key"
        # Python does not write these zeros: they take no memory.
        key = bytes((1 << 32) + 1)
        for call in (belt.get, belt.delete, lambda key: belt.set(key, b"x")):
            self.raises(hashbelt.TooLarge, "a key has 1 to 1024 bytes", call, key)
        self.assertEqual(belt[b"\0"], b"of another key")

    def test_ttl(self):
        """ttl: seconds, timedelta, None, the belt's own, and the present one"""
        belt = self.make()
        for ttl, left in ((60, 60.0), (0.5, 0.5), (timedelta(minutes=2), 120.0), (None, None),
                          (hashbelt.BELT, 3600.0), (0.0001, 0.001)):
            belt.set("key", b"value", ttl=ttl)
            self.assertEqual(belt.entry("key").ttl, left)
        belt.set("key", b"value", ttl=60)
        belt.set("key", b"other", ttl=hashbelt.KEEP)
        self.assertEqual(belt.entry("key").ttl, 60.0)
        for ttl in (0, -1, float("nan"), 1e300):
            self.raises(ValueError, "a time-to-live is more than 0", belt.set, "k", b"", ttl)
        for ttl in ("60", True):
            self.raises(TypeError, "a time-to-live is a number of seconds", belt.set, "k", b"", ttl)

    def test_bound(self):
        """set and add store bound entries, which touch_bound renews to the belt's time"""
        belt = self.make()
        other = hashbelt.open(belt.name)
        other.set("key", b"value", ttl=10, bound=True)
        self.assertTrue(other.add("added", b"value", ttl=None, bound=True))
        self.assertEqual((other.touch_bound(), belt.entry("added").ttl), (2, 3600.0))
        other.close()
        self.assertEqual(list(belt), [])

    def test_incr(self):
        """incr adds 1 and decr subtracts, down to minimum"""
        belt = self.make()
        self.assertEqual((belt.incr("n"), belt.decr("n", 50), belt["n"]), (1, -49, b"-49"))
        self.assertEqual((belt.incr("m", initial=10, ttl=7), belt.entry("m").ttl), (11, 7.0))
        self.assertEqual(belt.decr("m", 50, minimum=0), 0)


class ManyKeys(BeltCase):
    def test_lengths(self):
        """batches of keys of many lengths, one after the other, work as single calls"""
        belt = self.make()
        lengths = (1, 31, 32, 33, 255, 256, 300, 1024)
        for length in (*lengths, *reversed(lengths)):
            keys = [b"%d" % last * length for last in range(3)] + [b"a"]
            belt.set_many({key: b"%d" % length for key in keys})
            self.assertEqual([belt[key] for key in keys], [b"%d" % length] * 4)
            self.assertEqual(list(belt.get_many(keys)), keys)
            self.assertEqual((belt.delete_many(keys), len(list(belt))), (4, 0))
        for many in (belt.get_many, belt.delete_many):
            for key in ("", "k" * 1025):
                self.raises(hashbelt.TooLarge, "a key has 1 to 1024 bytes", many, ["a", key])
        self.raises(TypeError, "a key is str or bytes", belt.get_many, ["a", 5])

    def test_failed(self):
        """set_many stores the values that it can, and raises the error of the first other one"""
        belt = self.make(max_entries=2)
        error = self.raises(hashbelt.Full, "2 entries count against its max_entries of 2",
                            belt.set_many, {"a": b"1", "b": b"2", "c": b"3"})
        self.assertEqual(error.__notes__, ["the key is 'c'"])
        self.assertEqual(sorted(belt), [b"a", b"b"])


class Whole(BeltCase):
    def test_configure(self):
        """configure changes the settings that it names, and no others"""
        belt = self.make(max_entries=7, buckets=10)
        belt.resume()
        self.assertFalse(belt.info().state & hashbelt.abi.HALTED)
        belt.configure(ttl=60, grace=timedelta(seconds=2), mode=0o640, policy=hashbelt.abi.EVICT)
        info = belt.info()
        self.assertEqual((info.ttl_ms, info.grace_ms, info.mode, info.policy, info.max_entries,
                          info.buckets), (60000, 2000, 0o640, hashbelt.abi.EVICT, 7, 10))
        belt.configure(grace=None, max_entries=0)
        info = belt.info()
        self.assertEqual((info.ttl_ms, info.grace_ms, info.max_entries), (60000, 0, 0))

    def test_settings(self):
        """unknown names and values that no setting can have are errors"""
        belt = self.make(max_entries=7)
        calls = (belt.configure, lambda **settings: hashbelt.create("x", **settings))
        for name, value in (("limit", 5), ("max_entries", "5"), ("fields", 1), ("MODE", 0o640),
                            ("Ttl", 5), ("ALL", 1), ("window_bytes", 4096), ("max_events", None),
                            ("mode", True)):
            for call in calls:
                self.raises(TypeError, "is not a setting of a belt: there are buckets, consumers, "
                            "gid, grace, handler, max_bytes, max_entries, max_events, mode, "
                            "policy, reasons, ttl, window", call, **{name: value})
        for name, value in (("max_entries", -1), ("max_entries", 2 ** 64), ("mode", 2 ** 32)):
            for call in calls:
                self.raises(ValueError, f"{name} is from 0 to", call, **{name: value})
        for call in calls:
            self.raises(TypeError, "grace is a number of seconds", call, grace="")
        info = belt.info()
        self.assertEqual((info.max_entries, info.mode, info.max_events),
                         (7, 0o600, hashbelt.abi.EVENTS_DEFAULT))

    def test_window(self):
        """create and configure make a window, change it, and take it away"""
        belt = self.make(window=65536)
        self.assertEqual(belt.info().window_bytes, 65536)
        belt.configure(max_entries=9)
        self.assertEqual(belt.info().window_bytes, 65536)
        belt.configure(window=131072)
        self.assertEqual(belt.info().window_bytes, 131072)
        belt.configure(window=0)
        self.assertEqual(belt.info().window_bytes, 0)
        self.assertRaises(hashbelt.Error, belt.configure, window=65537)

    def test_many_in_window(self):
        """get_many takes most values from the window, and the others from the kernel"""
        belt = self.make(window=65536)
        keys = [f"key {number}" for number in range(100)]
        belt.set_many({key: b"small" for key in keys} | {"large": bytes(3000)})
        want = {key: b"small" for key in keys} | {"large": bytes(3000)}
        for _ in range(5):
            self.assertEqual(belt.get_many([*keys, "none", "large"]), want)
        before = belt.stat()["hits"]
        self.assertEqual(belt.get_many([*keys, "none", "large"]), want)
        # The belt's secret decides which keys share a set of the window, and which find no slot.
        self.assertLess(belt.stat()["hits"] - before, 50)
        belt.set("key 7", b"another")
        self.assertEqual(belt.get_many(["key 6", "key 7"]),
                         {"key 6": b"small", "key 7": b"another"})

    def test_close(self):
        """after close, and after the end of with, a call raises ValueError"""
        with hashbelt.open(self.make().name) as other:
            self.assertIsNone(other.get("key"))
        self.raises(ValueError, "is closed: open it again", other.get, "key")
        other.close()

    def test_serializers(self):
        """JSON and Pickle return equal values, and JSON adds to numbers"""
        belt = self.make(hashbelt.JSON())
        value = {"list": [1, 2.5, None, True], "text": "ü"}
        belt["key"] = value
        self.assertEqual(belt["key"], value)
        self.assertEqual(belt.get_many(["key"]), {"key": value})
        belt["n"] = 41
        self.assertEqual((belt.incr("n"), belt["n"]), (42, 42))

        class Doubled(hashbelt.Bytes):
            def loads(self, data):
                return 2 * data

        belt = self.make(Doubled())
        belt["key"] = b"ab"
        self.assertEqual((belt["key"], belt.get_many(["key"])), (b"abab", {"key": b"abab"}))
        belt = self.make(hashbelt.Pickle())
        belt["key"] = {1, (2, 3)}
        self.assertEqual(belt["key"], {1, (2, 3)})

    def test_keep_bound(self):
        """with keep_bound, calls reach the next belt of the name, and with an old version raise"""
        self.addCleanup(hashbelt.destroy, "python-kept")
        hashbelt.create("python-kept")
        belt = hashbelt.open("python-kept", keep_bound=True)
        copy = pickle.loads(pickle.dumps(belt))
        version = belt.set("key", b"1")
        for one in (belt, copy):
            hashbelt.destroy("python-kept")
            self.raises(hashbelt.NoBelt, "was destroyed", one.get, "key")
            hashbelt.create("python-kept")
            self.assertIsNone(one.get("key"))
            one["key"] = b"2"
            self.assertEqual(one.get_many(["key", "other"]), {"key": b"2"})
        hashbelt.destroy("python-kept")
        hashbelt.create("python-kept")
        with hashbelt.open("python-kept") as other:
            other["key"] = b"3"
        self.raises(hashbelt.Changed, "another version", belt.set, "key", b"4", version=version)
        self.assertEqual(belt["key"], b"3")
        self.raises(hashbelt.NotAllowed, "", hashbelt.open, "python-kept", keep_bound=True,
                    owner=4711)
        self.raises(hashbelt.NoBelt, "there is no belt 'absent'", hashbelt.open, "absent",
                    keep_bound=True)

    def test_signals(self):
        """a signal handler may use the belt that it interrupts"""
        belt = self.make()
        count = [0]

        def handler(number, frame):
            belt["handler"] = b"%d" % count[0]
            count[0] += belt["handler"] == b"%d" % count[0]

        before = signal.signal(signal.SIGALRM, handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        values = {f"key{number}": b"%d" % number for number in range(100)}
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        try:
            i = 0
            while count[0] < 50:
                belt["main"] = b"%d" % i
                self.assertEqual(belt["main"], b"%d" % i)
                belt.set_many(values)
                self.assertEqual(belt.get_many(values), values)
                i += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


main()
