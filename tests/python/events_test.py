#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Events of belts: iteration, acknowledgement, asyncio."""

import asyncio
import os
import select

from tap import PATIENCE, BeltCase, hashbelt, in_thread, main

ALL = hashbelt.abi.REPORT_ALL


class Reported(BeltCase):
    def reporting(self, serializer=None):
        return self.make(serializer, handler=hashbelt.abi.NOTIFY, reasons=ALL)

    def test_events(self):
        """expired, replaced and removed entries are reported, with key, value and reason"""
        belt = self.reporting(hashbelt.JSON())
        belt.set("old", [1], ttl=5)
        belt.set("new", 1)
        version = belt.entry("new").version
        belt.set("new", 2)
        belt.delete("new")
        belt.advance(5)
        belt.rotate()
        with belt.events() as events:
            found = [next(events) for _ in range(3)]
            self.assertIsNone(events.poll())
        self.assertEqual([(event.key, event.value, event.reason.name) for event in found],
                         [(b"new", 1, "REPLACED"), (b"new", 2, "REMOVED"),
                          (b"old", [1], "EXPIRED")])
        self.assertEqual([event.sequence for event in found], [1, 2, 3])
        self.assertEqual((found[0].version, found[0].lost, found[0].is_lock), (version, 0, False))

    def test_wait(self):
        """iteration waits for the next event, and other threads run"""
        belt = self.reporting()
        with belt.events() as events:
            wait = in_thread(lambda: next(events))
            belt["key"] = b"value"
            belt.delete("key")
            self.assertEqual(wait().key, b"key")

    def test_poll(self):
        """the descriptor of events is readable when there is one"""
        belt = self.reporting()
        with belt.events() as events:
            self.assertEqual(select.select([events], [], [], 0)[0], [])
            belt["key"] = b"value"
            belt.delete("key")
            self.assertEqual(select.select([events], [], [], PATIENCE)[0], [events])

    def test_ack(self):
        """an event that was not acknowledged goes to the next reader"""
        belt = self.reporting()
        for key in ("a", "b", "c"):
            belt[key] = b""
            belt.delete(key)
        with belt.events(ack=True) as events:
            for event in events:
                if event.key == b"b":
                    break
        with belt.events(ack=True) as events:
            first = next(events)
            self.assertEqual(first.key, b"b")
            events.acknowledge(first)
            self.assertEqual(next(events).key, b"c")
        with belt.events() as events:
            self.assertEqual(events.poll().key, b"c")
            self.assertIsNone(events.poll())

    def test_async(self):
        """async for waits while other tasks run"""
        belt = self.reporting()

        async def put():
            for i in range(3):
                belt[f"key{i}"] = b"value"
                belt.delete(f"key{i}")
                await asyncio.sleep(0)

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

        self.assertEqual(asyncio.run(asyncio.wait_for(read(), PATIENCE)),
                         [b"key0", b"key1", b"key2"])

    def put(self, belt, count):
        for number in range(count):
            belt[f"key{number}"] = b"value"
            belt.delete(f"key{number}")

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

        keys = asyncio.run(asyncio.wait_for(many(), PATIENCE))
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

        self.assertEqual(asyncio.run(asyncio.wait_for(many(), PATIENCE)), (b"key0", b"key1"))

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

        self.assertEqual(asyncio.run(asyncio.wait_for(many(), PATIENCE)),
                         ([ValueError, ValueError], False))

    def test_none(self):
        """a belt that reports nothing raises NoEvents"""
        belt = self.make()
        with belt.events() as events:
            self.raises(hashbelt.NoEvents, "--on-expire notify", next, events)


main()
