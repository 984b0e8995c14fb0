#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The two backends: which one is used, what both have in common, and the references and the GIL."""

import ctypes
import gc
import importlib
import mmap
import os
import platform
import select
import struct
import subprocess
import sys
import time
import unittest
import weakref

from tap import PATIENCE, TOP, BeltCase, hashbelt, in_thread, main

IS_NATIVE = hashbelt.backend() == "native"

OTHER = """
import sys
import hashbelt
belt = hashbelt.open(sys.argv[1])

@belt.cached(name="shared")
def shared(first, second=(1, "x"), *, third=None):
    return b"computed by the other one"

print(hashbelt.backend(), shared("a\\u00e9", third=b"\\0"), shared(first=1.5, second=True))
print(belt["key"], belt.incr("n"), belt.get_many(["key", "none"]))
"""


def run(backend, code, *arguments):
    """The output of a program, with a backend that it demands."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], text=True, check=False,
                          env={**os.environ, "HASHBELT_BACKEND": backend,
                               "PYTHONPATH": f"{TOP}/bindings/python"}, capture_output=True)
    return done.stdout + done.stderr


def has_extension():
    """Whether the package has the extension, whichever backend is used now."""
    return "native" in run("native", "import hashbelt; print(hashbelt.backend())").split()


class Backend(BeltCase):
    def test_demanded(self):
        """HASHBELT_BACKEND demands a backend, and another word is refused"""
        demanded = os.environ.get("HASHBELT_BACKEND") or hashbelt.backend()
        self.assertEqual(hashbelt.backend(), demanded)
        code = "import hashbelt; print(hashbelt.backend())"
        self.assertEqual(run("ctypes", code), "ctypes\n")
        self.assertIn("ImportError: HASHBELT_BACKEND=c: there are 'native' and 'ctypes'",
                      run("c", code))

    @unittest.skipUnless(has_extension(), "the package has no extension")
    def test_methods(self):
        """both backends have the same methods"""
        def public(kind):
            return {name for name in dir(kind) if not name.startswith("_")}

        native = importlib.import_module("hashbelt._native")
        keys = importlib.import_module("hashbelt._keys")
        self.assertEqual(public(native.Keys), public(keys.Keys))
        self.assertTrue(all(getattr(native.Keys, name).__doc__ for name in public(native.Keys)))

    @unittest.skipUnless(has_extension(), "the package has no extension")
    def test_shared(self):
        """a process with the other backend finds entries, and results of cached functions"""
        belt = self.make()

        @belt.cached(name="shared")
        def shared(first, second=(1, "x"), *, third=None):
            return b"computed here"

        shared("aé", third=b"\0")
        shared(1.5, True)
        belt["key"], belt["n"] = b"value", b"41"
        other = "ctypes" if IS_NATIVE else "native"
        self.assertEqual(run(other, OTHER, belt.name),
                         f"{other} b'computed here' b'computed here'\n"
                         "b'value' 42 {'key': b'value'}\n")
        for arguments in (("aé", (1, "x"), b"\0"), (1.5, True, None)):
            key = shared.key(*arguments[:2], third=arguments[2])
            self.assertEqual(belt[key], b"computed here")

    def test_arguments(self):
        """missing, unknown and superfluous arguments raise TypeError, and change nothing"""
        belt = self.make()
        for call in (lambda: belt.get(), lambda: belt.get("a", 1, 2),
                     lambda: belt.get("a", key="a"), lambda: belt.get("a", other=1),
                     lambda: belt.set("a"),
                     lambda: belt.set("a", b"", 5, 6), lambda: belt.delete("a", 5),
                     lambda: belt.incr("a", 1, 2), lambda: belt.incr("a", "1"),
                     lambda: belt.incr("a", 1.5), lambda: belt.touch(), lambda: belt.add("a"),
                     lambda: belt.get_many(5), lambda: belt.get_many(["a", 5])):
            self.assertRaises(TypeError, call)
        self.assertEqual(len(belt), 0)
        self.assertEqual((belt.set(key="a", value=b"1", ttl=5, version=None, bound=False) > 0,
                          belt.get(default=2, key="b"), belt.add(key="b", value=b"", bound=True),
                          belt.touch(ttl=None, key="b"), belt.delete(key="b", stale=False)),
                         (True, 2, True, True, True))
        self.assertRaises(UnicodeEncodeError, belt.get, "\udc80")

    def test_deep(self):
        """a tuple of any depth is an argument of a cached function, or raises RecursionError"""
        belt = self.make()

        @belt.cached(name="deep")
        def deep(_):
            return b"value"

        argument = ()
        for depth in range(100000):
            if depth in (5, 7, 8, 9, 50):
                self.assertEqual((deep(argument), deep(argument)), (b"value", b"value"))
                self.assertEqual(belt[deep.key(argument)], b"value")
            argument = (argument,)
        self.assertRaises(RecursionError, deep, argument)


class References(BeltCase):
    def calls(self, belt):
        """Calls with the objects that they are passed: those that succeed, and those that fail."""
        key, value, default, number = "key of a call", b"value of a call", object(), 12345678
        absent, wrong = "absent key", bytearray(5)

        @belt.cached(name="references")
        def function(argument, other=None):
            return value

        return (key, value, default, number, absent, wrong), (
            lambda: belt.set(key, value), lambda: belt.get(key, default),
            lambda: belt.get(absent, default), lambda: belt.get(wrong, default),
            lambda: belt.set(key, wrong), lambda: belt.set(key, number),
            lambda: belt.set(wrong, value), lambda: belt.set(key, value, default),
            lambda: belt.set(key, value, version=number), lambda: belt[absent],
            lambda: belt.add(key, value, number), lambda: belt.touch(key, ttl=number),
            lambda: belt.incr("n", number, initial=number), lambda: belt.incr(key, number),
            lambda: belt.incr("n", default), lambda: belt.delete(absent),
            lambda: belt.delete(key, version=number), lambda: wrong in belt, lambda: key in belt,
            lambda: belt.get_many([key, absent, key]), lambda: belt.get_many([key, wrong]),
            lambda: belt.get_many(number), lambda: belt.get(key, bad=default),
            lambda: belt.get_or_set(key, dict), lambda: belt.get_or_set(key, dict, number),
            lambda: belt.get_or_set(key, dict, stale=10 ** 30),
            lambda: function(key), lambda: function(number),
            lambda: function(key, other=key), lambda: function(default), lambda: function(),
            lambda: function(key, wrong=key))

    def test_counts(self):
        """calls that succeed, and calls that fail, keep no reference to their arguments"""
        belt = self.make()
        passed, calls = self.calls(belt)
        total = getattr(sys, "gettotalrefcount", lambda: 0)

        def call_all():
            for call in calls:
                for _ in range(50):
                    try:
                        call()
                    except (TypeError, ValueError, KeyError, OSError):
                        pass

        call_all()
        gc.collect()
        before = [sys.getrefcount(one) for one in passed]
        first = total()
        call_all()
        gc.collect()
        self.assertEqual([sys.getrefcount(one) for one in passed], before)
        self.assertLess(abs(total() - first), 50)

    def test_freed(self):
        """a belt is freed with its last reference, and a cycle by the garbage collector"""
        made = self.make()
        belt = hashbelt.open(made.name, hashbelt.JSON())
        belt["key"] = [1]
        gone = weakref.ref(belt)
        belt.get_or_set("key", list)
        if sys.implementation.name == "cpython":
            gc.disable()
            del belt
            self.assertIsNone(gone())
            gc.enable()
        belt = hashbelt.open(made.name)
        gone = weakref.ref(belt)
        belt.itself = belt
        del belt
        gc.collect()
        self.assertIsNone(gone())

    def test_not_opened(self):
        """a belt that __init__() has not made raises an exception"""
        belt = hashbelt.Belt.__new__(hashbelt.Belt)
        for call in (lambda: belt.get("a"), lambda: belt.set("a", b""), lambda: belt["a"],
                     lambda: belt.get_many(["a"]), lambda: "a" in belt, lambda: belt.incr("a"),
                     lambda: belt.delete("a"), lambda: belt.touch("a")):
            self.assertRaises((ValueError, AttributeError, SystemError), call)

    @unittest.skipUnless(IS_NATIVE, "objects of the extension")
    def test_wrong_objects(self):
        """the extension refuses objects that are not what it needs"""
        native = importlib.import_module("hashbelt._native")
        belt = self.make()
        self.assertRaises(TypeError, native.Keys, object(), None, None)
        self.assertRaises(TypeError, belt.__init__, belt.name, hashbelt.Bytes())
        belt = hashbelt.open(belt.name)
        with self.assertRaises(AttributeError):
            belt._device._handle = 5
        self.assertEqual(belt.get("key"), None)
        cached = native.CachedBase()
        for arguments in ((), (None, b"", (), (), (), 0, 0), (belt, b"", ("a",), (), (), 0, 0),
                          (belt, b"", (1,), (b"",), (None,), 1, 0),
                          (belt, b"", ("a",), (b"",), (1,), 1, 0),
                          (belt, b"", ("a",), (b"",), (None,), 2, 0)):
            self.assertRaises(TypeError, cached._begin, *arguments)
        self.assertRaises(AttributeError, cached)


class Interpreters(BeltCase):
    def interpreters(self):
        """The module of interpreters, under its name of this version."""
        for name in ("_interpreters", "_xxsubinterpreters"):
            try:
                return importlib.import_module(name)
            except ImportError:
                pass
        return self.skipTest("this Python has no interpreters")

    def test_interpreters(self):
        """two interpreters use a belt, also with GILs of their own, and the first goes on then"""
        interpreters = self.interpreters()
        if (3, 12) <= sys.version_info < (3, 13):
            self.skipTest("ctypes of 3.12 is for the first interpreter alone")
        belt = self.make()
        code = (f"import sys; sys.path.insert(0, {TOP + '/bindings/python'!r})\n"
                "import hashbelt\n"
                f"belt = hashbelt.open({belt.name!r}, hashbelt.JSON())\n"
                "for _ in range(500):\n"
                "    belt.incr('n'); belt['key'] = [1]; assert belt['key'] == [1]\n"
                f"assert hashbelt.backend() == {hashbelt.backend()!r}\n")

        def use():
            # The thread that has imported the module threading there has to end the interpreter.
            one = interpreters.create()
            failed = interpreters.run_string(one, code)
            interpreters.destroy(one)
            return failed

        results = [in_thread(use) for _ in range(2)]
        self.assertEqual([result() for result in results], [None, None])
        self.assertEqual((belt["n"], belt["key"]), (b"1000", b"[1]"))
        belt["key"] = b"value"
        self.assertEqual(belt["key"], b"value")


class Slow:
    """Memory that a reader waits for in the kernel, until open() is called: by userfaultfd(2)."""

    USERFAULTFD = {"x86_64": 323, "aarch64": 282, "s390x": 355}
    API, REGISTER, ZEROPAGE = 0xc018aa3f, 0xc020aa00, 0xc020aa04

    def __init__(self, value):
        libc = ctypes.CDLL(None, use_errno=True)
        self._ioctl = libc.ioctl
        self.fd = libc.syscall(self.USERFAULTFD[platform.machine()], os.O_CLOEXEC)
        self._control(self.API, struct.pack("QQQ", 0xaa, 0, 0))
        first = ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value
        self._begin = (first // mmap.PAGESIZE + 1) * mmap.PAGESIZE
        self._size = len(value) // mmap.PAGESIZE // 2 * mmap.PAGESIZE
        # Zeros are all that is in them.
        libc.madvise(ctypes.c_void_p(self._begin), ctypes.c_size_t(self._size), mmap.MADV_DONTNEED)
        self._control(self.REGISTER, struct.pack("QQQQ", self._begin, self._size, 1, 0))

    def _control(self, request, argument):
        found = ctypes.create_string_buffer(argument)
        if self._ioctl(self.fd, ctypes.c_ulong(request), found):
            raise OSError(ctypes.get_errno(), "userfaultfd")

    def wait(self):
        """Wait until a reader waits."""
        return bool(select.select([self.fd], [], [], PATIENCE)[0])

    def open(self):
        """Let it read zeros."""
        self._control(self.ZEROPAGE, struct.pack("QQQq", self._begin, self._size, 0, 0))
        os.close(self.fd)


class Lock(BeltCase):
    """The GIL."""

    def test_wait(self):
        """other threads run while a put waits, also one that closes the belt"""
        belt = self.make()
        other = hashbelt.open(belt.name)
        value = bytes(1 << 20)
        slow = Slow(value)
        put = in_thread(lambda: other.set("key", value))
        self.assertTrue(slow.wait())
        self.assertTrue(put.runs())
        other.close()
        slow.open()
        self.assertGreater(put(), 0)
        self.assertEqual(belt["key"], value)
        self.assertRaises(ValueError, other.get, "key")

    @unittest.skipUnless(IS_NATIVE, "ctypes gives the GIL away with each call")
    def test_hit(self):
        """a get, from a window or by a call, does not give the GIL away, and a put does"""
        belt = self.make(window=65536)
        plain = self.make()
        turns, ends = [0], []

        def count():
            while not ends:
                turns[0] += 1
                time.sleep(0)

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e6)
        self.addCleanup(sys.setswitchinterval, before)
        for one in (belt, plain):
            one["key"] = b"value"
            for _ in range(200):
                one.get("key")
        thread = in_thread(count)
        while turns[0] < 10:
            time.sleep(0.001)
        for get in belt.get, plain.get:
            known = turns[0]
            for _ in range(1000):
                get("key")
            self.assertEqual(turns[0], known)
        began = time.monotonic()
        while turns[0] == known and time.monotonic() - began < PATIENCE:
            plain["key"] = b"value"
        self.assertGreater(turns[0], known)
        ends.append(True)
        thread()


class Threads(BeltCase):
    def test_mixed(self):
        """threads that get, put, and get many at once, with values of all sizes, mix nothing up"""
        belt = self.make()
        sizes = (0, 10, 1024, 1025, 4096, 4097, 100000)
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        self.addCleanup(sys.setswitchinterval, before)

        def work(number):
            keys = [f"{number}:{size}" for size in sizes]
            values = {key: b"%d" % number * size for key, size in zip(keys, sizes)}
            for _ in range(30):
                for key, value in values.items():
                    belt.set(key, value)
                    if belt.get(key) != value:
                        return key
                if belt.get_many(keys) != values:
                    return "many"
            return None

        threads = [in_thread(lambda number=number: work(number)) for number in range(6)]
        self.assertEqual([thread() for thread in threads], [None] * 6)


main()
