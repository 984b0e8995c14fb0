#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Belts as mappings: one key, many keys, the belt as a whole, serializers and errors."""

import os
import pickle
import signal
import sys
import threading
from datetime import timedelta

from tap import BeltCase, Child, hashbelt, main


class OneKey(BeltCase):
    def test_item(self):
        """a value that [] stores is returned by [], get and entry"""
        belt = self.make()
        belt["key"] = b"value"
        self.assertEqual(belt["key"], b"value")
        self.assertEqual(belt[b"key"], b"value")
        self.assertEqual(belt.get("key"), b"value")
        entry = belt.entry("key")
        self.assertEqual((entry.value, entry.ttl), (b"value", 3600.0))

    def test_missing(self):
        """a missing key: [] and del raise KeyError, get returns the default, in is false"""
        belt = self.make()
        self.raises(KeyError, f"there is no entry of that key in belt '{belt.name}'",
                    belt.__getitem__, "key")
        self.raises(hashbelt.Missing, "there is no entry of that key", belt.__delitem__, "key")
        self.assertEqual((belt.get("key"), belt.get("key", 5), belt.entry("key")), (None, 5, None))
        self.assertNotIn("key", belt)
        self.assertNotIn(5, belt)

    def test_too_large(self):
        """keys and values of a wrong size or type are refused with a sentence"""
        belt = self.make()
        for key in ("", "k" * 1025):
            error = self.raises(hashbelt.TooLarge, "a key has 1 to 1024 bytes", belt.get, key)
            self.assertIsInstance(error, ValueError)
        self.raises(hashbelt.TooLarge, "a value has at most 1048576 bytes", belt.set, "k",
                    bytes((1 << 20) + 1))
        self.raises(TypeError, "a key is str or bytes, not int", belt.get, 5)
        self.raises(TypeError, "the belt stores bytes, not str", belt.set, "key", "text")

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

    def test_touch_bound(self):
        """touch_bound renews and counts the entries stored with bound; without any: Missing"""
        belt = self.make()
        other = hashbelt.open(belt.name)
        self.addCleanup(other.close)
        self.raises(hashbelt.Missing, f"no entry of belt '{belt.name}' is bound to the handle",
                    other.touch_bound, 5)
        other.set("key", b"value", ttl=10, bound=True)
        self.assertTrue(other.add("added", b"value", ttl=None, bound=True))
        self.assertFalse(other.add("added", b"value", bound=True))
        other.set("free", b"value", ttl=10)
        self.assertEqual(other.touch_bound(500), 2)
        self.assertEqual([belt.entry(key).ttl for key in ("key", "added", "free")], [500, 500, 10])
        version = belt.entry("key").version
        other.set("key", b"value", version=version)
        self.assertEqual(other.touch_bound(), 1)
        other.close()
        self.assertEqual(sorted(belt), [b"free", b"key"])

    def test_version(self):
        """set and delete with a version: Changed if the entry has another one"""
        belt = self.make()
        first = belt.set("key", b"1")
        self.assertEqual(belt.entry("key").version, first)
        second = belt.set("key", b"2", version=first)
        self.assertGreater(second, first)
        self.raises(hashbelt.Changed, "has another version than demanded: get it again",
                    belt.set, "key", b"3", version=first)
        self.assertRaises(hashbelt.Changed, belt.delete, "key", version=first)
        self.assertEqual(belt["key"], b"2")
        self.assertTrue(belt.delete("key", version=second))

    def test_delete(self):
        """delete and expire return whether there was an entry"""
        belt = self.make()
        belt.update({"a": b"1", "b": b"2"}, c=b"3")
        self.assertEqual((belt.delete("a"), belt.delete("a")), (True, False))
        self.assertEqual((belt.expire("b"), belt.expire("b")), (True, False))
        del belt["c"]
        self.assertEqual(sorted(belt), [])

    def test_decr(self):
        """decr subtracts down to minimum, and with if_present makes no entry"""
        belt = self.make()
        self.assertRaises(hashbelt.Missing, belt.decr, "n", if_present=True)
        self.assertEqual(belt.decr("n", 5, minimum=0), 0)
        self.assertRaises(hashbelt.SumTooLarge, belt.incr, "n", minimum=2 ** 63)

    def test_incr(self):
        """incr and decr add to a number, which an absent entry is initial of"""
        belt = self.make()
        self.assertEqual(belt.incr("n"), 1)
        self.assertEqual(belt.incr("n", 41), 42)
        self.assertEqual(belt.decr("n", 50), -8)
        self.assertEqual(belt["n"], b"-8")
        self.assertEqual(belt.incr("m", initial=10, ttl=7), 11)
        self.assertEqual(belt.entry("m").ttl, 7.0)
        belt["text"] = b"text"
        error = self.raises(hashbelt.NotNumber, "is not a number", belt.incr, "text")
        self.assertIsInstance(error, ValueError)
        belt["n"] = b"%d" % (2 ** 63 - 1)
        for by in (1, 2 ** 64):
            self.raises(hashbelt.SumTooLarge, "more than 64 bits", belt.incr, "n", by)

    def test_pop(self):
        """pop, setdefault and popitem work as those of a dict"""
        belt = self.make()
        self.assertEqual(belt.setdefault("key", b"1"), b"1")
        self.assertEqual(belt.setdefault("key", b"2"), b"1")
        self.assertEqual(belt.pop("key"), b"1")
        self.assertEqual(belt.pop("key", None), None)
        self.assertRaises(KeyError, belt.pop, "key")
        belt["key"] = b"3"
        self.assertEqual(belt.popitem(), (b"key", b"3"))
        self.assertRaises(KeyError, belt.popitem)

    def test_identity(self):
        """two belts are equal only if they are one object"""
        belt = self.make()
        with hashbelt.open(belt.name) as other:
            self.assertEqual((belt == other, len({belt, other})), (False, 2))


class ManyKeys(BeltCase):
    def test_many(self):
        """set_many, get_many and delete_many of 2500 keys, more than two batches take"""
        belt = self.make()
        values = {f"key{i}": b"%d" % i for i in range(2500)}
        belt.set_many(values, ttl=60)
        self.assertEqual(belt.get_many([*values, "absent"]), values)
        self.assertEqual(belt.entry("key2499").ttl, 60.0)
        self.assertEqual(len(belt), 2500)
        self.assertEqual(sorted(belt), sorted(key.encode() for key in values))
        self.assertEqual(belt.delete_many([*values, "absent"]), 2500)
        self.assertEqual((belt.get_many([]), belt.delete_many([])), ({}, 0))

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

    def test_large(self):
        """get_many returns small values and one of 1 MiB"""
        belt = self.make()
        values = {b"a": b"1", b"b": bytes(1 << 20), b"c": b"", b"d": bytes(1024), b"e": bytes(1025)}
        belt.set_many(values)
        self.assertEqual(belt.get_many(values), values)
        self.assertEqual(dict(belt.items()), values)

    def test_failed(self):
        """set_many stores the values that it can, and raises the error of the first other one"""
        belt = self.make(max_entries=2)
        error = self.raises(hashbelt.Full, "2 entries count against its max_entries of 2",
                            belt.set_many, {"a": b"1", "b": b"2", "c": b"3"})
        self.assertEqual(error.__notes__, ["the key is 'c'"])
        self.assertEqual(sorted(belt), [b"a", b"b"])


class Whole(BeltCase):
    def test_clear(self):
        """clear removes all entries, and an empty belt is true"""
        belt = self.make()
        belt.update(a=b"1", b=b"2")
        belt.clear()
        self.assertEqual((list(belt), bool(belt)), ([], True))

    def test_configure(self):
        """configure changes the settings that it names, and no others"""
        belt = self.make(max_entries=7, buckets=10)
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

    def test_time(self):
        """halt, advance, rotate and resume move belt time"""
        belt = self.make()
        before = belt.info().now_ns
        belt.advance(timedelta(seconds=1.5))
        self.assertEqual(belt.info().now_ns - before, 1500000000)
        belt.rotate()
        self.assertGreater(belt.info().now_ns, before + 1500000000)
        self.assertTrue(belt.info().state & hashbelt.abi.HALTED)
        belt.resume()
        self.assertFalse(belt.info().state & hashbelt.abi.HALTED)

    def test_close(self):
        """after close, and after the end of with, a call raises ValueError"""
        belt = self.make()
        with hashbelt.open(belt.name) as other:
            self.assertGreaterEqual(other.fileno(), 0)
            other["key"] = b"value"
        self.raises(ValueError, "is closed: open it again", other.get, "key")
        other.close()
        self.assertEqual(belt["key"], b"value")

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


class Errors(BeltCase):
    def test_names(self):
        """a belt's name: absent, taken, too long, not valid"""
        belt = self.make()
        error = self.raises(hashbelt.NoBelt, "there is no belt 'absent'", hashbelt.open, "absent")
        self.assertIsInstance(error, FileNotFoundError)
        self.raises(hashbelt.Exists, "choose another name", hashbelt.create, belt.name)
        self.raises(hashbelt.TooLarge, "a belt's name has 1 to 63 bytes", hashbelt.open, "n" * 64)
        for name in ("a/b", "", "a\0b"):
            self.raises(hashbelt.Error, "a belt's name has 1 to 63 bytes", hashbelt.open, name)

    def test_destroyed(self):
        """a call on a belt that was destroyed raises NoBelt"""
        hashbelt.create("python-gone")
        with hashbelt.open("python-gone") as belt:
            hashbelt.destroy("python-gone")
            self.raises(hashbelt.NoBelt, "was destroyed", belt.get, "key")

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

    def test_full(self):
        """a put into a full belt raises Full, with the limit"""
        belt = self.make(max_entries=1)
        belt["a"] = b"1"
        error = self.raises(hashbelt.Full, "raise that or let it evict", belt.set, "b", b"2")
        self.assertIsInstance(error, OSError)
        belt = self.make(max_bytes=2000)
        self.raises(hashbelt.Full, "max_bytes of 2000", belt.set, "b", bytes(4000))

    def test_rights(self):
        """without the right: NotAllowed, which is a PermissionError"""
        belt = self.make(mode=0o604)
        os.chmod("/dev/hashbelt", 0o666)

        def use(say):
            os.setgid(65534)
            os.setuid(65534)
            with hashbelt.open(belt.name) as other:
                for call in (lambda: other.set("a", b"1"), lambda: other.halt()):
                    try:
                        call()
                    except PermissionError as error:
                        say(f"{type(error).__name__}: {error}")
                say(other.get("a"))

        child = Child(use)
        self.assertIn("NotAllowed: no right to write belt", child.hear())
        self.assertIn("NotAllowed: halt is for the owner of belt", child.hear())
        self.assertEqual((child.hear(), child.status()), ("None", 0))

    def test_owner(self):
        """open with an owner refuses a belt of another one"""
        belt = self.make()
        hashbelt.open(belt.name, owner=0).close()
        self.raises(hashbelt.NotAllowed, "has another owner than demanded", hashbelt.open,
                    belt.name, owner=1000)


class Shared(BeltCase):
    def test_threads(self):
        """8 threads that add to one number and set keys of their own lose nothing"""
        belt = self.make()
        wrong = []

        def work(number):
            for i in range(200):
                belt.incr("n")
                key, value = f"{number}:{i % 7}", b"%d" % (number * 1000 + i)
                belt[key] = value
                if belt[key] != value:
                    wrong.append(key)

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        self.addCleanup(sys.setswitchinterval, before)
        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((belt["n"], wrong), (b"1600", []))

    def test_fork(self):
        """a child of fork gets a descriptor of its own, and what is bound to the parent's stays"""
        belt = self.make()
        parent = os.readlink(f"/proc/self/fd/{belt.fileno()}")
        number = belt.fileno()

        def use(say):
            say(os.path.exists(f"/proc/self/fd/{number}"))
            belt["child"] = b"1"
            say(os.readlink(f"/proc/self/fd/{belt.fileno()}"))

        child = Child(use)
        self.assertEqual((child.hear(), child.hear(), child.status()), ("False", parent, 0))
        self.assertEqual(belt["child"], b"1")

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
