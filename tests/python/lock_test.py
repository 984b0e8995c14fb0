#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Locks of belts: owners, waiting, leases, and the end of processes."""

import asyncio
import ctypes
import errno
import inspect
import os
import signal
import time

from tap import BeltCase, Child, at_last, hashbelt, in_thread, main, run_async

from hashbelt._library import library

# The processor's number of the system call ioctl.
IOCTL = {"x86_64": "16", "aarch64": "29", "s390x": "54"}[os.uname().machine]


class Locks(BeltCase):
    def pinned(self, **settings):
        return self.make(policy=hashbelt.abi.PINNED, **settings)

    def test_with(self):
        """with takes the lock, and the token of a later grant is larger"""
        belt = self.pinned()
        with belt.lock("name") as lock:
            first = lock.token
            self.assertEqual(belt.info().locks, 1)
        self.assertEqual(belt.info().locks, 0)
        self.raises(hashbelt.LockLost, "no owner has the lock", getattr, lock, "token")
        with belt.lock("name") as lock:
            self.assertGreater(lock.token, first)

    def test_timeout(self):
        """another owner gets LockTimeout at once, or after a time of the belt"""
        belt = self.pinned()
        with belt.lock("name", owner="a"):
            error = self.raises(hashbelt.LockTimeout, "another owner has the lock",
                                belt.lock("name", timeout=0, owner="b").acquire)
            self.assertIsInstance(error, TimeoutError)
            wait = in_thread(belt.lock("name", timeout=10, owner="b").acquire)
            self.assertTrue(at_last(waits))
            belt.advance(10)
            self.assertRaises(hashbelt.LockTimeout, wait)

    def test_reentrant(self):
        """an owner takes the lock again, and releases it as often"""
        belt = self.pinned()
        with belt.lock("name") as outer:
            with belt.lock("name", timeout=0) as inner:
                self.assertEqual(inner.token, outer.token)
            self.assertEqual(belt.info().locks, 1)
            self.assertRaises(hashbelt.LockTimeout,
                              in_thread(belt.lock("name", timeout=0).acquire))
        self.assertEqual(belt.info().locks, 0)

    def test_decorator(self):
        """a decorated function runs under the lock"""
        belt = self.pinned()

        @belt.lock("name")
        def locked(number):
            return number, belt.info().locks

        self.assertEqual((locked(5), belt.info().locks), ((5, 1), 0))

    def test_lost(self):
        """the end of with raises LockLost if the lease has ended, unless the block has failed"""
        belt = self.pinned()

        def overstay(fail):
            with belt.lock("name", ttl=5):
                belt.advance(5)
                if fail:
                    raise ZeroDivisionError

        self.raises(hashbelt.LockLost, "no owner has the lock", overstay, False)
        self.assertRaises(ZeroDivisionError, overstay, True)
        lock = belt.lock("name", ttl=5, owner="a")
        lock.acquire()
        belt.advance(5)
        with belt.lock("name", owner="b"):
            self.raises(hashbelt.LockLost, "another owner has the lock", lock.release)
            self.assertEqual(belt.info().locks, 1)

    def test_renewed(self):
        """renew=True keeps a lock for many times its lease"""
        belt = self.pinned()
        with belt.lock("name", ttl=0.9, renew=True) as lock:
            token = lock.token
            for _ in range(3):
                belt.advance(0.6)
                self.assertTrue(at_last(lambda: left(belt, b"name") == 900))
            self.assertRaises(hashbelt.LockTimeout,
                              in_thread(belt.lock("name", timeout=0).acquire))
            self.assertEqual(lock.token, token)

    def test_killed_parent(self):
        """the lock of a killed process goes to the waiter, though a child of that process lives"""
        belt = self.pinned()

        def hold(say):
            belt.lock("name").acquire()
            grandchild = os.fork()
            if grandchild:
                say(grandchild)
            time.sleep(1000)

        child = Child(hold)
        grandchild = int(child.hear())
        self.addCleanup(os.kill, grandchild, signal.SIGKILL)
        wait = in_thread(belt.lock("name").acquire)
        self.assertTrue(at_last(waits))
        child.kill()
        self.assertGreater(wait(), 0)
        os.kill(grandchild, 0)

    def test_fork(self):
        """a child of fork is another owner, and its end leaves the parent's lock"""
        belt = self.pinned()

        def take(say):
            try:
                belt.lock("name", timeout=0).acquire()
            except hashbelt.LockTimeout:
                say("refused")

        with belt.lock("name"):
            child = Child(take)
            self.assertEqual((child.hear(), child.status()), ("refused", 0))
            self.assertEqual(belt.info().locks, 1)

    def test_close(self):
        """close in another thread: the descriptor closes when the call has returned"""
        belt = self.pinned()
        other = hashbelt.open(belt.name)
        descriptor = f"/proc/self/fd/{other.fileno()}"
        with belt.lock("name", owner="a"):
            wait = in_thread(other.lock("name", owner="b").acquire)
            self.assertTrue(at_last(waits))
            other.close()
            self.assertRaises(ValueError, other.get, "key")
            self.assertTrue(os.path.exists(descriptor))
        self.assertGreater(wait(), 0)
        self.assertTrue(at_last(lambda: not os.path.exists(descriptor)))
        self.assertEqual(belt.info().locks, 0)

    def test_refused(self):
        """a lease that is too long, a long owner and a negative time to wait are refused"""
        belt = self.pinned()
        self.raises(hashbelt.Error, "the lease is longer", belt.lock("name", ttl=3601).acquire)
        self.raises(hashbelt.TooLarge, "its owner 1 to 64",
                    belt.lock("name", owner="o" * 65).acquire)
        self.raises(ValueError, "a time to wait", belt.lock, "name", timeout=-1)


class Tasks(BeltCase):
    def setUp(self):
        self.belt = self.make(policy=hashbelt.abi.PINNED)

    def test_owners(self):
        """each task is an owner: another one is refused, and it takes its own lock again"""
        async def refused():
            self.assertRaises(hashbelt.LockTimeout, self.belt.lock("name", timeout=0).acquire)
            with self.assertRaises(hashbelt.LockTimeout):
                async with self.belt.lock("name", timeout=0):
                    pass
            with self.belt.lock("other", timeout=0) as lock:
                return lock.token > 0

        async def hold():
            with self.belt.lock("name", timeout=0) as outer:
                async with self.belt.lock("name") as inner:
                    self.assertEqual(inner.token, outer.token)
                found = await asyncio.create_task(refused())
                thread = await asyncio.to_thread(in_thread, self.belt.lock("name", 1, 0).acquire)
                self.assertRaises(hashbelt.LockTimeout, thread)
                return found

        self.assertTrue(run_async(hold()))
        self.assertEqual(self.belt.info().locks, 0)

    def test_own_thread(self):
        """a task that would stop the one that has the lock, or waits for it, gets LockTimeout"""
        async def wait():
            async with self.belt.lock("name"):
                pass

        async def refused():
            error = self.raises(hashbelt.LockTimeout, "use 'async with'",
                                self.belt.lock("name").acquire)
            self.assertEqual(error.errno, errno.EDEADLK)

        async def many():
            with self.belt.lock("name"):
                await asyncio.create_task(refused())
            with hashbelt.open(self.belt.name) as other:
                other.lock("name", owner="other").acquire()
                waiter = asyncio.create_task(wait())
                await asyncio.sleep(0)
                await asyncio.create_task(refused())
            await waiter

        run_async(many())

    def test_async_wait(self):
        """async with waits for another thread while the event loop runs, at most for its time"""
        async def wait(timeout):
            async with self.belt.lock("name", timeout=timeout) as lock:
                return lock.token

        async def many():
            self.belt.lock("name", owner="a").acquire()
            first, second = asyncio.create_task(wait(5)), asyncio.create_task(wait(None))
            while not await asyncio.to_thread(waits):
                await asyncio.sleep(0)
            while not first.done():
                self.belt.advance(1)
                await asyncio.sleep(0.001)
            self.assertRaises(hashbelt.LockTimeout, first.result)
            self.belt.lock("name", owner="a").release()
            return await second

        self.assertGreater(run_async(many()), 0)
        self.assertEqual(self.belt.info().locks, 0)

    def test_cancel(self):
        """a task that is cancelled while it waits leaves the lock to the next one"""
        async def wait():
            async with self.belt.lock("name"):
                return True

        async def many():
            with self.belt.lock("name"):
                tasks = [asyncio.create_task(wait()) for _ in range(3)]
                await asyncio.sleep(0)
                tasks[0].cancel()
                await asyncio.wait(tasks[:1])
            return await tasks[1], await tasks[2], tasks[0].cancelled()

        self.assertEqual(run_async(many()), (True, True, True))
        self.assertTrue(at_last(lambda: not self.belt.info().locks))

    def test_cancelled_first(self):
        """a wait that was cancelled gives the lock up though the event loop waits for it"""
        async def wait():
            async with self.belt.lock("name"):
                return True

        async def many():
            other = self.belt.lock("name", owner="a")
            other.acquire()
            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
            while not await asyncio.to_thread(waits):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            release = in_thread(lambda: [at_last(lambda: waits(2)), other.release()])
            with self.belt.lock("name") as lock:
                self.assertGreater(lock.token, 0)
            return release()[0]

        self.assertTrue(in_thread(lambda: run_async(many()))())

    def test_again(self):
        """the end of a wait that was cancelled does not take the lock of the next try"""
        async def wait():
            with self.assertRaises(asyncio.TimeoutError):
                async with asyncio.timeout(0.001):
                    async with self.belt.lock("name"):
                        pass
            self.belt.lock("name", owner="other").release()
            async with self.belt.lock("name"):
                for _ in range(20):
                    await asyncio.sleep(0.001)
                    self.assertEqual(self.belt.info().locks, 1)

        async def many():
            self.belt.lock("name", owner="other").acquire()
            await wait()

        run_async(many())
        # The cancelled wait may get the lock now, and its thread gives it back.
        self.assertTrue(at_last(lambda: not self.belt.info().locks))

    def test_decorated(self):
        """a decorated async function runs under the lock, and a generator is refused"""
        @self.belt.lock("name")
        async def locked(number):
            await asyncio.sleep(0)
            return number, self.belt.info().locks

        self.assertTrue(inspect.iscoroutinefunction(locked))
        self.assertEqual((run_async(locked(5)), self.belt.info().locks), ((5, 1), 0))

        def generator():
            yield 1

        async def async_generator():
            yield 1

        for function in (generator, async_generator):
            self.raises(TypeError, "take the lock in the body", self.belt.lock("name"), function)


def left(belt, name):
    """The lease that a lock has left, milliseconds."""
    owner = ctypes.create_string_buffer(hashbelt.abi.OWNER_MAX)
    size = ctypes.c_size_t(len(owner))
    lock = hashbelt.abi.Lock()
    belt._device.call(hashbelt.abi.CALL_HOLDER, library.holder, name, len(name), owner,
                      ctypes.byref(size), ctypes.byref(lock))
    return lock.ttl_ms


def waits(count=1):
    """Whether so many threads of this process, or more, wait in the kernel for a lock."""
    return sum(waits_in_lock(task) for task in os.listdir("/proc/self/task")) >= count


def waits_in_lock(task):
    """Whether a thread sleeps in ioctl(2) with the request HASHBELT_IOC_LOCK."""
    try:
        with open(f"/proc/self/task/{task}/syscall", encoding="ascii") as file:
            words = file.read().split()
    except OSError:
        return False
    return words[0] == IOCTL and int(words[2], 16) & 0xff == 0x50


main()
