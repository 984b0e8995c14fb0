#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Names of cached functions, and keys of their calls: no function returns another one's result."""

import asyncio
import functools
import importlib
import inspect
import os
import runpy
import sys
import tempfile

from tap import BeltCase, hashbelt, main

PROGRAM = """
import hashbelt

def make(text):
    @hashbelt.open({belt!r}).cached()
    def load(number):
        return text
    return load

if __name__ != "library":
    @hashbelt.open({belt!r}).cached()
    def load(number):
        return b"{text}"

@hashbelt.open({belt!r}).cached(name="shared")
def shared(number):
    return b"{text}"
"""


def report(day, *, part=0, belt=None):
    """A function with a name of its own."""
    return f"{day} {part}".encode()


async def report_later(day):
    """report() for async."""
    return report(day)


def any_arguments(function):
    """A decorator whose functions take any arguments, and add a first one."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function("monday", *args, **kwargs)
    return call


class Shop:
    """A class with functions of all kinds."""

    def __init__(self, number):
        self.number = number

    def price(self, name):
        return f"{self.number} {name}".encode()

    def price_of(cls, name, tax=0):
        return f"{cls.__name__} {name} {tax}".encode()

    @classmethod
    def kind(cls, name):
        return f"{cls.__name__} {name}".encode()

    def rate(name="dollar"):
        return name.encode()

    def __call__(self, name):
        return f"called {self.number} {name}".encode()


class Market(Shop):
    """A subclass."""


class Later:
    """An object that is called, and returns a coroutine."""

    async def __call__(self, name):
        return name.encode()


NO_NAME = "has no name that is its own on this machine: pass name= or key= to cached()"


class Names(BeltCase):
    def test_refused(self):
        """a lambda, a closure, an object and its method need name= or key="""
        belt = self.make()

        def local():
            return b""

        for function, text in ((lambda: b"", "<lambda>"), (local, "test_refused.<locals>.local"),
                               (Shop(1), "an object of Shop"), (Shop(1).price, "Shop.price"),
                               ("text".upper, "str.upper"),
                               (functools.partial(local), "test_refused.<locals>.local")):
            error = self.raises(TypeError, NO_NAME, belt.cached(), function)
            self.assertIn(text, str(error))
            for more in ({"name": "one"}, {"key": lambda: "one"}):
                self.assertIsInstance(belt.cached(**more)(function), hashbelt.Cached)
        self.raises(TypeError, "not both", belt.cached(name="a", key=lambda: "a"), local)
        self.raises(TypeError, "takes what can be called, not int", belt.cached(), 5)

    def test_main(self):
        """functions of the __main__ of a program are refused, and those with name= work"""
        belt = self.make()
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROGRAM.format(belt=belt.name, text="one"))
            for name in ("__main__", "__mp_main__"):
                self.raises(TypeError, f"{name}.load {NO_NAME}", runpy.run_path, path,
                            run_name=name)

    def modules(self, belt, name):
        """Import modules of one name from two directories."""
        found = []
        for text in ("one", "two"):
            directory = tempfile.TemporaryDirectory()
            self.addCleanup(directory.cleanup)
            with open(os.path.join(directory.name, f"{name}.py"), "w", encoding="utf-8") as file:
                file.write(PROGRAM.format(belt=belt.name, text=text))
            sys.path.insert(0, directory.name)
            self.addCleanup(sys.modules.pop, name, None)
            self.addCleanup(sys.path.remove, directory.name)
            sys.modules.pop(name, None)
            importlib.invalidate_caches()
            found.append(importlib.import_module(name))
        return found

    def test_programs(self):
        """functions of one name, of modules of one name in two directories, share no entry"""
        belt = self.make()
        one, two = self.modules(belt, "utilities")
        self.assertEqual([one.load(1), two.load(1), one.load(1)], [b"one", b"two", b"one"])
        one.load.invalidate(1)
        self.assertNotIn(one.load.key(1), belt)
        self.assertIn(two.load.key(1), belt)
        for module in (one, two):
            self.raises(TypeError, "make.<locals>.load " + NO_NAME, module.make, b"")

    def test_shared(self):
        """functions with one name= share entries"""
        one, two = self.modules(self.make(), "library")
        self.assertEqual((one.shared(1), two.shared(1)), (b"one", b"one"))
        two.shared.invalidate(1)
        self.assertEqual((two.shared(1), one.shared(1)), (b"two", b"two"))

    def test_long(self):
        """names that differ after their first 128 bytes are two"""
        belt = self.make()
        one, two = (belt.cached(name="n" * 150 + end)(report) for end in "ab")
        self.assertNotEqual(one.key("a"), two.key("a"))


class Calls(BeltCase):
    def test_passed(self):
        """one call has one entry, by position or by name, with or without defaults"""
        belt = self.make()
        cached = belt.cached()(report)
        keys = {cached.key("monday"), cached.key(day="monday"), cached.key("monday", part=0),
                cached.key(part=0, day="monday")}
        self.assertEqual(len(keys), 1)
        self.assertNotIn(cached.key("monday", part=1), keys)
        self.assertEqual((cached("monday"), list(belt)), (b"monday 0", list(keys)))
        cached.invalidate(day="monday", part=0)
        self.assertEqual(list(belt), [])
        self.raises(TypeError, "report(): missing a required argument: 'day'", cached)
        self.raises(TypeError, "make no key", cached, "monday", belt=belt)

    def test_partial(self):
        """a partial has the entries of the calls that it makes"""
        belt = self.make()
        cached, part = belt.cached()(report), belt.cached()(functools.partial(report, part=5))
        self.assertEqual((part("monday"), cached.key("monday", part=5)),
                         (b"monday 5", part.key("monday")))
        part.invalidate(day="monday")
        self.assertEqual(list(belt), [])

    def test_wrapped(self):
        """calls of a function with other arguments than the one that it wraps are kept apart"""
        belt = self.make()
        cached = belt.cached()(any_arguments(report))
        self.assertEqual((cached(), cached(part=3)), (b"monday 0", b"monday 3"))
        self.assertNotEqual(cached.key(), belt.cached()(report).key("monday"))

    def test_methods(self):
        """a method needs key=, and is called and invalidated by its object"""
        belt = self.make()

        class Store(Shop):
            priced = belt.cached(name="priced")(Shop.price)
            price = belt.cached(key=lambda self, name: f"{self.number}:{name}")(Shop.price)

        self.raises(TypeError, "make no key", Store(1).priced, "apple")
        self.assertEqual([Store(1).price("apple"), Store(2).price("apple"),
                          Store(1).price(name="apple")], [b"1 apple", b"2 apple", b"1 apple"])
        self.assertEqual(sorted(belt), [b"1:apple", b"2:apple"])
        Store(2).price.invalidate("apple")
        self.assertEqual((list(belt), Store(1).price.key("apple")), ([b"1:apple"], b"1:apple"))

    def test_class_methods(self):
        """a class method has entries of each class, and a static method those of its arguments"""
        belt = self.make()
        self.addCleanup(delattr, Shop, "cached_price")
        Shop.cached_price = belt.cached()(classmethod(Shop.price_of))
        self.assertEqual([Shop.cached_price("a"), Market.cached_price("a"),
                          Shop(1).cached_price("a"), Shop.cached_price(name="a", tax=0)],
                         [b"Shop a 0", b"Market a 0", b"Shop a 0", b"Shop a 0"])
        self.assertEqual(len(belt), 2)
        Shop.cached_price.invalidate("a", 0)
        self.assertEqual(list(belt), [Market(1).cached_price.key("a")])
        self.assertEqual([belt.cached()(kind.kind)("b") for kind in (Shop, Market)],
                         [b"Shop b", b"Market b"])

        class Local(Shop):
            inside = classmethod(belt.cached(name="inside")(Shop.price_of))
            static = belt.cached()(staticmethod(Shop.rate))
            outside = staticmethod(belt.cached()(Shop.rate))

        self.raises(TypeError, "put it above @classmethod", Local.inside, "a")
        self.raises(TypeError, "Local has no name", Local.cached_price, "a")
        for function in (Local.static, Local(1).static, Local.outside, Local(1).outside):
            self.assertEqual((function(), function("euro")), (b"dollar", b"euro"))
            self.assertEqual(function.key(), Local.static.key("dollar"))
            function.invalidate()
            self.assertNotIn(function.key(), belt)

    def test_objects(self):
        """an object that is called works with name=, also if it returns a coroutine"""
        belt = self.make()
        cached = belt.cached(name="object")(Shop(1))
        self.assertEqual((cached("a"), belt[cached.key(name="a")]), (b"called 1 a",) * 2)
        later = belt.cached(name="later")(Later())
        self.assertTrue(inspect.isawaitable(coroutine := later("b")))
        self.assertEqual((asyncio.run(coroutine), belt[later.key("b")]), (b"b", b"b"))
        self.assertEqual(asyncio.run(belt.cached()(functools.partial(report_later, "c"))()), b"c 0")

    def test_unreadable(self):
        """bytes that are no value count as none: one caller computes, and they are replaced"""
        belt = self.make(hashbelt.JSON())
        raw = hashbelt.open(belt.name)
        self.addCleanup(raw.close)
        cached = belt.cached(name="cached")(lambda number: number + 1)
        for call in (lambda: cached(1), lambda: belt.get_or_set(cached.key(1), lambda: 2),
                     lambda: asyncio.run(belt.aget_or_set(cached.key(1), later))):
            async def later():
                return 2
            raw[cached.key(1)] = b"{no JSON"
            self.assertEqual((call(), raw[cached.key(1)], call()), (2, b"2", 2))


main()
