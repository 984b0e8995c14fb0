#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""close() closes the descriptor at once, also in a Python that does not count references."""

import os
import threading

from tap import BeltCase, Child, hashbelt, in_thread, main


class Close(BeltCase):
    def test_descriptors(self):
        """close closes the descriptor at once; failed calls, create and destroy leave none"""
        belt = self.make(policy=hashbelt.abi.PINNED)
        before = os.listdir("/proc/self/fd")
        for _ in range(50):
            with hashbelt.open(belt.name) as other:
                other.set_many({"a": b"1", "b": b"2"})
                self.assertEqual((other.get("a"), other.incr("n", 0)), (b"1", 0))
                with other.events() as events:
                    self.assertRaises(hashbelt.NoEvents, events.poll)
            self.assertRaises(hashbelt.NotAllowed, hashbelt.open, belt.name, owner=1000)
            self.assertRaises(hashbelt.Exists, hashbelt.create, belt.name)
            self.assertRaises(hashbelt.NoBelt, hashbelt.destroy, "absent")
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_closed_iteration(self):
        """an iteration goes on to the keys that it has read, and then raises ValueError"""
        belt = self.make(policy=hashbelt.abi.PINNED)
        belt.set_many({f"key{number}": b"" for number in range(1000)})
        with hashbelt.open(belt.name) as other:
            keys = iter(other)
            next(keys)
        self.raises(ValueError, "is closed: open it again", list, keys)

    def test_closed(self):
        """close ends the locks of its descriptor at once, also those of another object"""
        belt = self.make(policy=hashbelt.abi.PINNED)
        with hashbelt.open(belt.name) as other:
            lock = other.lock("name")
            lock.acquire()
            self.assertEqual(belt.info().locks, 1)
        self.assertEqual(belt.info().locks, 0)
        self.raises(ValueError, "is closed", lock.acquire)

    def test_threads(self):
        """a belt that is closed under 4 threads: each call works or raises ValueError"""
        belt = self.make()
        belt["key"] = b"value"
        before = os.listdir("/proc/self/fd")

        def work(other, begun):
            calls = 0
            try:
                while True:
                    if other.get("key") != b"value" or len(other.get_many(["key", "a"])) != 1:
                        raise AssertionError
                    other.touch("key")
                    calls += 1
                    if calls == 10:
                        begun.release()
            except ValueError as error:
                return str(error)

        for _ in range(10):
            other, begun = hashbelt.open(belt.name), threading.Semaphore(0)
            threads = [in_thread(lambda: work(other, begun)) for _ in range(4)]
            for _ in threads:
                begun.acquire()
            other.close()
            for thread in threads:
                self.assertIn("is closed: open it again", thread())
        other = threads = thread = None
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_fork(self):
        """a child of fork has closed its copy of the descriptor, and close closes its own"""
        belt = self.make()
        number = belt.fileno()

        def use(say):
            say(os.path.exists(f"/proc/self/fd/{number}"))
            belt["key"] = b"value"
            descriptor = f"/proc/self/fd/{belt.fileno()}"
            say(os.path.exists(descriptor))
            belt.close()
            say(os.path.exists(descriptor))

        child = Child(use)
        self.assertEqual([child.hear() for _ in range(3)], ["False", "True", "False"])
        self.assertEqual((child.status(), belt["key"]), (0, b"value"))


main()
