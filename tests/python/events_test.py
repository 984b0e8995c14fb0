#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Events of belts: iteration, acknowledgement, asyncio."""

import asyncio
import os

from tap import BeltCase, hashbelt, in_thread, main, run_async

ALL = hashbelt.abi.REPORT_ALL


class Reported(BeltCase):
    def reporting(self, serializer=None):
        return self.make(serializer, handler=hashbelt.abi.NOTIFY, reasons=ALL)

    def put(self, belt, count):
        for number in range(count):
            belt[f"key{number}"] = b"value"
            belt.delete(f"key{number}")

    def test_value(self):
        """the value of an event is loaded by the serializer of the belt"""
        belt = self.reporting(hashbelt.JSON())
        belt["key"] = [1]
        belt.delete("key")
        with belt.events() as events:
            self.assertEqual(next(events).value, [1])
            self.assertIsNone(events.poll())

    def test_ack(self):
        """an event that was not acknowledged goes to the next reader"""
        belt = self.reporting()
        self.put(belt, 3)
        with belt.events(ack=True) as events:
            for event in events:
                if event.key == b"key1":
                    break
        with belt.events(ack=True) as events:
            first = next(events)
            self.assertEqual(first.key, b"key1")
            events.acknowledge(first)
            self.assertEqual(next(events).key, b"key2")
        with belt.events() as events:
            self.assertEqual(events.poll().key, b"key2")
            self.assertIsNone(events.poll())

    def test_async(self):
        """async for waits while other tasks run"""
        belt = self.reporting()

        async def put():
            self.put(belt, 3)

        async def read():
            keys = []
            with belt.events(ack=True) as events:
                task = asyncio.create_task(put())
                async for event in events:
                    keys.append(event.key)
                    if len(keys) == 3:
                        break
                await task
            return keys

        self.assertEqual(run_async(read()),
                         [b"key0", b"key1", b"key2"])

    def test_tasks(self):
        """two tasks share one object: each event goes to one of them"""
        belt = self.reporting()

        async def read(events, keys, count):
            for _ in range(count):
                keys.append((await anext(events)).key)

        async def many():
            keys = []
            with belt.events() as events:
                tasks = [asyncio.create_task(read(events, keys, 3)) for _ in range(2)]
                await asyncio.sleep(0)
                self.put(belt, 2)
                await asyncio.sleep(0)
                self.put(belt, 4)
                await asyncio.gather(*tasks)
                self.assertIsNone(events.poll())
                return keys

        keys = run_async(many())
        self.assertEqual(sorted(keys), sorted(b"key%d" % n for n in (0, 1, 0, 1, 2, 3)))

    def test_left(self):
        """a task that waits gets an event that another reader has read and left"""
        belt = self.reporting()

        async def many():
            with belt.events() as events:
                task = asyncio.create_task(anext(events))
                await asyncio.sleep(0)
                self.put(belt, 2)
                first = events.poll()
                return first.key, (await task).key

        self.assertEqual(run_async(many()), (b"key0", b"key1"))

    def test_threads(self):
        """4 threads and a task share one object: each event goes to one of them"""
        belt = self.reporting()

        async def read(events):
            return [(await anext(events)).sequence for _ in range(40)]

        def work(events):
            return [next(events).sequence for _ in range(40)]

        with belt.events() as events:
            threads = [in_thread(lambda: work(events)) for _ in range(4)]
            threads.append(in_thread(lambda: asyncio.run(read(events))))
            self.put(belt, 200)
            found = sum((thread() for thread in threads), [])
        self.assertEqual(sorted(found), list(range(1, 201)))

    def test_close_wakes(self):
        """close ends the wait of a task, with ValueError"""
        belt = self.reporting()

        async def many():
            events = belt.events()
            descriptor = f"/proc/self/fd/{events.fileno()}"
            tasks = [asyncio.create_task(anext(events)) for _ in range(2)]
            await asyncio.sleep(0)
            events.close()
            errors = await asyncio.gather(*tasks, return_exceptions=True)
            return [type(error) for error in errors], os.path.exists(descriptor)

        self.assertEqual(run_async(many()),
                         ([ValueError, ValueError], False))


main()
