#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""get_or_set and cached: one caller computes, and late results are not stored."""

import asyncio
import inspect
import threading
import typing

from tap import PATIENCE, BeltCase, Slow, hashbelt, in_thread, main, run_async


class Fills(BeltCase):
    def test_get_or_set(self):
        """get_or_set computes an absent value once, with its time-to-live"""
        belt = self.make()
        calls = []

        def compute():
            calls.append(1)
            return b"value"

        for _ in range(3):
            self.assertEqual(belt.get_or_set("key", compute, ttl=60), b"value")
        self.assertEqual((len(calls), belt.entry("key").ttl), (1, 60.0))

    def test_one_computes(self):
        """of 8 processes, one computes, and the others get its value"""
        belt = self.make()
        self.one_computes(lambda: belt.get_or_set(
            "key", lambda: b"%d" % belt.incr("computed")).decode(), 8)

    def test_exception(self):
        """an exception is raised, nothing is stored, and the next caller computes"""
        belt = self.make()
        self.assertRaises(ZeroDivisionError, belt.get_or_set, "key", lambda: 1 // 0)
        self.assertRaises(TypeError, belt.get_or_set, "key", lambda: "text")
        self.assertNotIn("key", belt)
        self.assertEqual(belt.get_or_set("key", lambda: b"value", timeout=0), b"value")

    def test_timeout(self):
        """a caller that does not wait gets FillTimeout while another one computes"""
        belt = self.make()

        def compute():
            error = self.raises(hashbelt.FillTimeout, "no value was put",
                                belt.get_or_set, "key", lambda: b"other", timeout=0)
            self.assertIsInstance(error, TimeoutError)
            wait = in_thread(lambda: belt.get_or_set("key", lambda: b"other", timeout=5))
            while wait.runs():
                belt.advance(1)
            self.assertRaises(hashbelt.FillTimeout, wait)
            return b"value"

        self.assertEqual(belt.get_or_set("key", compute, ttl=60, lease=10 ** 9), b"value")

    def test_large(self):
        """a value of 1 MiB is filled and returned"""
        belt = self.make()
        for _ in range(2):
            self.assertEqual(belt.get_or_set("key", lambda: bytes(1 << 20), ahead=5),
                             bytes(1 << 20))

    def test_stale(self):
        """for stale seconds after ttl one caller computes, and the others take the old value"""
        belt = self.make()
        belt.get_or_set("key", lambda: b"old", ttl=60, stale=10)
        belt.advance(59)
        self.assertEqual(belt.get_or_set("key", lambda: b"early", ttl=60, stale=10), b"old")
        belt.advance(2)

        def compute():
            self.assertEqual(belt.get_or_set("key", lambda: b"other", ttl=60, stale=10), b"old")
            return b"new"

        self.assertEqual(belt.get_or_set("key", compute, ttl=60, stale=10), b"new")
        self.assertEqual(belt.entry("key").ttl, 70.0)
        belt.advance(70)
        self.assertNotIn("key", belt)
        belt.get_or_set("key", lambda: b"value", stale=10)
        self.assertEqual(belt.entry("key").ttl, 3610.0)

    def test_ahead(self):
        """from ahead seconds before the end of ttl one caller computes anew"""
        belt = self.make()
        belt.get_or_set("key", lambda: b"old", ttl=60, ahead=5)
        belt.advance(54)
        self.assertEqual(belt.get_or_set("key", lambda: b"new", ttl=60, ahead=5), b"old")
        belt.advance(2)
        self.assertEqual(belt.get_or_set("key", lambda: b"new", ttl=60, ahead=5), b"new")
        self.raises(ValueError, "need a time-to-live that ends", belt.get_or_set, "key",
                    lambda: b"", None, ahead=5)


class Own(BeltCase):
    """A caller that would wait for itself computes. Belt time stands still: no lease ends."""

    def test_recursive(self):
        """a function that asks for the key that it computes computes once more"""
        belt = self.make()

        def outer():
            return belt.get_or_set("key", lambda: b"inner") + b" outer"

        wait = in_thread(lambda: belt.get_or_set("key", outer))
        self.assertEqual((wait(), belt["key"]), (b"inner outer", b"inner outer"))
        with hashbelt.open(belt.name) as other:
            wait = in_thread(lambda: belt.get_or_set(
                "two", lambda: other.get_or_set("two", lambda: b"inner")))
            self.assertEqual(wait(), b"inner")

    def test_circle(self):
        """of two threads that would wait for each other, one computes"""
        belt = self.make()
        meet = threading.Barrier(2)

        def fill(key, other):
            def compute():
                meet.wait(PATIENCE)
                return belt.get_or_set(other, lambda: b"own")
            return belt.get_or_set(key, compute)

        waits = [in_thread(lambda: fill("a", "b")), in_thread(lambda: fill("b", "a"))]
        self.assertEqual([wait() for wait in waits], [b"own", b"own"])

    def test_sync_in_loop(self):
        """get_or_set in a task computes while another task of the loop fills, or waits to fill"""
        belt = self.make()
        fail = Slow(ZeroDivisionError())

        async def slow():
            await asyncio.sleep(0.001)
            return b"task"

        async def many():
            task = asyncio.create_task(belt.aget_or_set("key", slow))
            await asyncio.sleep(0)
            own = belt.get_or_set("key", lambda: b"own")
            waiter = asyncio.create_task(belt.aget_or_set("other", slow))
            await asyncio.sleep(0)
            other = belt.get_or_set("other", lambda: b"own")
            fail.go_on()
            return own, await task, other, await waiter

        thread = in_thread(lambda: belt.get_or_set("other", fail))
        fail.wait()
        loop = in_thread(lambda: asyncio.run(many()))
        self.assertEqual(loop(), (b"own", b"task", b"own", b"task"))
        self.assertRaises(ZeroDivisionError, thread)

    def test_async_recursive(self):
        """a coroutine, a task and a thread that help to compute a key compute when they ask it"""
        belt = self.make()

        async def inner():
            return b"inner"

        async def same():
            return await belt.aget_or_set("key", inner)

        async def child():
            return (await asyncio.gather(belt.aget_or_set("key", inner)))[0]

        async def thread():
            return await asyncio.to_thread(belt.get_or_set, "key", lambda: b"inner")

        for outer in (same, child, thread):
            run = in_thread(lambda: asyncio.run(belt.aget_or_set("key", outer)))
            self.assertEqual(run(), b"inner")
            belt.delete("key")

    def test_late_cancel(self):
        """a task that is cancelled when it has been granted the fill lease gives it up"""
        belt = self.make()
        fail = Slow(ZeroDivisionError())

        async def slow():
            return b"task"

        async def cancel():
            loop = asyncio.get_running_loop()
            call_soon = loop.call_soon_threadsafe
            task = asyncio.create_task(belt.aget_or_set("key", slow))
            await asyncio.sleep(0)
            # The result comes, and then the task is cancelled, before it has run on.
            loop.call_soon_threadsafe = lambda function, *arguments: call_soon(
                lambda: [function(*arguments), task.cancel()])
            fail.go_on()
            await asyncio.wait([task])
            self.assertTrue(task.cancelled())
            return await belt.aget_or_set("key", slow)

        thread = in_thread(lambda: belt.get_or_set("key", fail))
        fail.wait()
        self.assertEqual(run_async(cancel()), b"task")
        self.assertRaises(ZeroDivisionError, thread)


class Functions(BeltCase):
    def test_annotations(self):
        """a cached function has the annotations of its function"""
        belt = self.make()

        @belt.cached(key=str)
        def typed(number: int) -> bytes:
            return b"%d" % number

        self.assertEqual(typed.__annotations__, {"number": int, "return": bytes})
        self.assertEqual(typing.get_type_hints(typed), {"number": int, "return": bytes})
        self.assertFalse(hasattr(typed, "absent"))

    def test_cached(self):
        """a cached function is called once for equal arguments, until invalidate"""
        belt = self.make(hashbelt.JSON())
        calls = []

        @belt.cached(ttl=60, name="double")
        def double(number, *, plus=0):
            """Twice the number."""
            calls.append(number)
            return 2 * number + plus

        self.assertEqual([double(2), double(2), double(3), double(2, plus=1)], [4, 4, 6, 5])
        self.assertEqual(calls, [2, 3, 2])
        double.invalidate(2)
        self.assertEqual((double(2), double(3), calls), (4, 6, [2, 3, 2, 2]))
        belt.advance(60)
        self.assertEqual((double(3), calls[4:]), (6, [3]))
        self.assertEqual((double.__name__, double.__doc__), ("double", "Twice the number."))

    def test_keys(self):
        """arguments of any length and plain type make keys; others need key="""
        belt = self.make(hashbelt.JSON())

        @belt.cached(name="kind")
        def kind(value):
            return type(value).__name__

        values = (1, "1", b"1", None, True, 1.0, (1, "1"), "x" * 5000, "ü", "\udcff")
        self.assertEqual([kind(value) for value in values],
                         [type(value).__name__ for value in values])
        self.raises(TypeError, "pass key= to cached()", kind, [1])

        @belt.cached(key=lambda value: f"kind:{len(value)}")
        def length(value):
            return len(value)

        self.assertEqual((length([1, 2]), belt["kind:2"]), (2, 2))

    def test_late(self):
        """a result that was computed before invalidate is not stored"""
        belt = self.make()
        slow = Slow(b"late")
        cached = belt.cached(name="slow")(lambda: slow())
        wait = in_thread(cached)
        slow.wait()
        cached.invalidate()
        slow.go_on()
        self.assertEqual((wait(), list(belt)), (b"late", []))

    def test_async(self):
        """an async function is computed once for 40 tasks, more than a pool of threads has"""
        belt = self.make()
        calls = []

        @belt.cached(ttl=60, name="slow")
        async def slow(name):
            calls.append(name)
            await asyncio.sleep(0.05)
            return name.encode()

        async def many():
            return await asyncio.gather(*(slow("a") for _ in range(40)))

        self.assertEqual(run_async(many()), [b"a"] * 40)
        self.assertEqual(calls, ["a"])
        # inspect has a mark for such objects since Python 3.12, and asyncio had one before.
        has_mark = hasattr(inspect, "markcoroutinefunction")
        self.assertTrue((inspect if has_mark else asyncio).iscoroutinefunction(slow))
        self.assertTrue(inspect.isawaitable(coroutine := slow("a")))
        self.assertEqual(asyncio.run(coroutine), b"a")

    def test_aget_or_set(self):
        """aget_or_set computes an absent value once, and waits while another thread computes"""
        belt = self.make()
        slow = Slow(b"thread")

        async def compute():
            return b"task"

        async def many():
            wait = asyncio.create_task(belt.aget_or_set("a", compute))
            found = [await belt.aget_or_set("b", compute, ttl=60)]
            self.assertFalse(wait.done())
            slow.go_on()
            return found + [await wait, await belt.aget_or_set("a", compute, timeout=0)]

        wait = in_thread(lambda: belt.get_or_set("a", slow))
        slow.wait()
        self.assertEqual(run_async(many()),
                         [b"task", b"thread", b"thread"])
        self.assertEqual((wait(), belt.entry("b").ttl), (b"thread", 60.0))

    def test_async_errors(self):
        """of async callers the next one computes after an exception or a cancellation"""
        belt = self.make()
        calls = []

        @belt.cached(name="fails")
        async def fails():
            calls.append(1)
            await asyncio.sleep(0)
            if len(calls) < 3:
                raise ZeroDivisionError
            return b"value"

        async def many():
            return await asyncio.gather(*(fails() for _ in range(5)), return_exceptions=True)

        found = run_async(many())
        self.assertEqual(sum(isinstance(one, ZeroDivisionError) for one in found), 2)
        self.assertEqual([one for one in found if isinstance(one, bytes)], [b"value"] * 3)

        async def cancel():
            fails.invalidate()
            del calls[:]
            first = asyncio.create_task(fails())
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait([first])
            del calls[:]
            calls.extend([1, 1])
            return first.cancelled(), await fails()

        self.assertEqual(run_async(cancel()), (True, b"value"))


main()
