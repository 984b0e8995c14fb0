#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Requests: futures that end with a put, a completion, a time or a clear."""

import asyncio
import os

from tap import BeltCase, Child, hashbelt, main, run_async

Cause = hashbelt.Cause


class Requests(BeltCase):
    def test_time(self):
        """a request ends after its time-to-live, with a clear, and when the belt is destroyed"""
        belt = self.make()

        async def wait():
            future = belt.wait_for("key", ttl=5)
            belt.advance(5)
            belt.rotate()
            timed_out = await future
            future = belt.wait_for("key")
            belt.clear()
            return timed_out.cause, (await future).cause

        self.assertEqual(run_async(wait()), (Cause.TIMEOUT, Cause.CLEAR))

        async def destroy(name):
            with hashbelt.open(name) as other:
                future = other.wait_for("key")
                hashbelt.destroy(name)
                return await future

        hashbelt.create("python-requests")
        self.assertRaises(hashbelt.NoBelt, run_async, destroy("python-requests"))

    def test_cancel(self):
        """a future that is cancelled, or whose belt is closed, takes its request along"""
        belt = self.make()

        async def wait():
            future = belt.wait_for("key")
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(future, 0.01)
            left = [belt.info().requests]
            with hashbelt.open(belt.name) as other:
                future = other.wait_for("key")
                left.append(belt.info().requests)
            await asyncio.sleep(0)
            return left + [belt.info().requests], future.cancelled()

        self.assertEqual(run_async(wait()), ([0, 1, 0], True))

    def test_loops(self):
        """each event loop, also in a child of fork, gets the ends of its own requests"""
        belt = self.make()

        async def wait(key):
            future = belt.wait_for(key)
            belt.complete(key)
            return (await future).key

        async def leave():
            belt.wait_for("left")

        async def fork():
            future = belt.wait_for("parent")

            def use(say):
                say(run_async(wait("child")))

            child = Child(use)
            self.assertEqual((child.hear(), child.status()), ("b'child'", 0))
            belt.complete("parent")
            return (await future).key

        run_async(leave())
        self.assertEqual([run_async(one) for one in (wait("a"), fork(), wait("b"))],
                         [b"a", b"parent", b"b"])

    def test_refused(self):
        """no keys, too many, a long one, or no event loop: an error, and no request"""
        belt = self.make()

        async def wait(*keys):
            return await belt.wait_for(*keys)

        for keys in ((), ("k",) * 17, ("k" * 1025,)):
            self.assertRaises(hashbelt.Error, run_async, wait(*keys))
        self.assertRaises(RuntimeError, belt.wait_for, "key")
        self.assertEqual(belt.info().requests, 0)
        self.assertTrue(os.path.exists(f"/proc/self/fd/{belt.fileno()}"))


main()
