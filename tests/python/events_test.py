#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Events of belts: iteration, acknowledgement, asyncio."""

import asyncio
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

    def test_none(self):
        """a belt that reports nothing raises NoEvents"""
        belt = self.make()
        with belt.events() as events:
            self.raises(hashbelt.NoEvents, "--on-expire notify", next, events)


main()
