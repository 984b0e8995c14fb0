#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""The storages for limits: windows to the millisecond, and hits of several processes."""

import asyncio
import copy
import pickle
import subprocess
import time

from tap import BeltCase, Child, hashbelt, main

import limits
from limits.aio import strategies as later
from limits.storage import storage_from_string
from limits.strategies import STRATEGIES

import hashbelt.limits  # noqa: F401,F811

SLIDING = "sliding-window-counter"      # limits before 4.1 has none


def reload(belt):
    """Dump a belt, destroy it, and load it into a new one of that name, as after a reboot.

    Returns the new one, whose time begins anew, and stands still.
    """
    dump = subprocess.run(["hbctl", "-b", belt.name, "dump"], check=True, capture_output=True)
    hashbelt.destroy(belt.name)
    hashbelt.create(belt.name, ttl=3600)
    new = hashbelt.open(belt.name)
    new.halt()
    subprocess.run(["hbctl", "-b", belt.name, "load"], check=True, input=dump.stdout,
                   capture_output=True)
    return new


class Windows(BeltCase):
    def limiter(self, strategy):
        """A limiter on a belt, and the belt."""
        belt = self.make()
        self.storage = storage_from_string(f"hashbelt://{belt.name}")
        return STRATEGIES[strategy](self.storage), belt

    def hits(self, limiter, item, count):
        """The number of hits, of count, that the limit lets pass."""
        return sum(limiter.hit(item, "user") for _ in range(count))

    def test_fixed(self):
        """a fixed window lets 5 hits pass, until 60 s after the first one"""
        limiter, belt = self.limiter("fixed-window")
        item = limits.parse("5/minute")
        self.assertEqual((self.hits(limiter, item, 3), limiter.test(item, "user")), (3, True))
        belt.advance(59.999)
        self.assertEqual((self.hits(limiter, item, 4), limiter.test(item, "user")), (2, False))
        self.assertEqual(limiter.get_window_stats(item, "user")[1], 0)
        belt.advance(0.001)
        self.assertTrue(limiter.test(item, "user"))
        self.assertEqual(limiter.get_window_stats(item, "user")[1], 5)
        self.assertEqual((self.hits(limiter, item, 6), limiter.hit(item, "other")), (5, True))

    def test_cost(self):
        """a hit of cost 3 counts as three"""
        for strategy in STRATEGIES:
            limiter, _ = self.limiter(strategy)
            item = limits.parse("5/minute")
            self.assertEqual((limiter.hit(item, cost=3), limiter.hit(item, cost=3)), (True, False))

    def test_elastic(self):
        """with elastic expiry a window ends 60 s after its last hit"""
        limiter, belt = self.limiter("fixed-window-elastic-expiry")
        item = limits.parse("2/minute")
        self.assertEqual(self.hits(limiter, item, 2), 2)
        for _ in range(3):
            belt.advance(59.999)
            self.assertFalse(limiter.hit(item, "user"))
        belt.advance(60)
        self.assertTrue(limiter.hit(item, "user"))

    def test_elastic_end(self):
        """a hit between whose two calls the window ends counts in the next window"""
        _, belt = self.limiter("fixed-window-elastic-expiry")
        self.storage.incr("key", 60, True)
        touch = self.storage.belt.touch

        def late(key, ttl):
            self.storage.belt.touch = touch
            belt.advance(60)
            return touch(key, ttl)

        self.storage.belt.touch = late
        self.assertEqual(self.storage.incr("key", 60, True), 1)
        self.assertEqual((belt["key"], belt.entry("key").ttl), (b"1", 60.0))

    def test_moving(self):
        """a moving window lets 3 hits pass in any 60 s"""
        limiter, belt = self.limiter("moving-window")
        item = limits.parse("3/minute")
        for pause, passes in ((0, True), (10, True), (20, True), (29.999, False), (0.001, True),
                              (0, False), (9.999, False), (0.001, True), (0, False),
                              (60, True), (0, True), (0, True), (0, False)):
            if pause:
                belt.advance(pause)
            self.assertEqual((limiter.test(item, "user"), limiter.hit(item, "user")),
                             (passes, passes))

    def test_moving_stats(self):
        """get_window_stats: the first hit of a moving window plus 60 s, and what is left"""
        limiter, belt = self.limiter("moving-window")
        item = limits.parse("3/minute")
        limiter.hit(item)
        belt.advance(20)
        limiter.hit(item)
        for seconds, wanted in ((40, 1), (60, 3)):
            before = time.time()
            reset, left = limiter.get_window_stats(item)
            self.assertEqual(left, wanted)
            self.assertTrue(before + seconds < reset < time.time() + seconds + 1.1)
            belt.advance(60)

    def test_processes(self):
        """8 processes get 100 of 400 hits through, in each kind of window"""
        for strategy in STRATEGIES:
            limiter, _ = self.limiter(strategy)
            item = limits.parse("100/hour")
            children = [Child(lambda say: say(self.hits(limiter, item, 50))) for _ in range(8)]
            self.assertEqual(sum(int(child.hear()) for child in children), 100)
            self.assertEqual([child.status() for child in children], [0] * 8)

    def test_moving_limit(self):
        """a moving window of more hits than a value has room for is refused"""
        limiter, _ = self.limiter("moving-window")
        self.raises(ValueError, "has at most 131072 hits, not 131073: use a fixed window",
                    limiter.hit, limits.parse("131073/minute"))
        self.assertTrue(limiter.hit(limits.parse("131072/minute"), cost=131072))
        self.assertFalse(limiter.hit(limits.parse("131072/minute")))

    def test_moving_long(self):
        """a moving window passes a hit each 2 s for 10 minutes, and its entry stays small"""
        limiter, belt = self.limiter("moving-window")
        item = limits.parse("3/5second")
        for _ in range(300):
            self.assertTrue(limiter.hit(item))
            belt.advance(2)
        self.assertLess(len(belt[f"{item.key_for()}/moving"]), 30)
        belt.advance(60)
        self.assertEqual(list(belt), [])

    def test_moving_ends(self):
        """a hit during which the window is cleared counts in a new one"""
        limiter, belt = self.limiter("moving-window")
        item = limits.parse("1/minute")
        limiter.hit(item)
        belt.advance(60)
        entry = self.storage.belt.entry

        def late(key):
            self.storage.belt.entry = entry
            found = entry(key)
            belt.clear()
            return found

        self.storage.belt.entry = late
        self.assertEqual((limiter.hit(item), limiter.hit(item)), (True, False))

    def test_unreadable(self):
        """a window whose bytes are no numbers has no hits"""
        for strategy in STRATEGIES.keys() & {"moving-window", SLIDING}:
            limiter, belt = self.limiter(strategy)
            item = limits.parse("1/minute")
            limiter.hit(item)
            for wrong in (b"\xff", b"{}", b'["1", null]', b"[" * 100000):
                belt[next(iter(belt))] = wrong
                self.assertEqual((limiter.hit(item), limiter.hit(item)), (True, False))

    def test_reload(self):
        """a dump keeps each kind of window: it goes on in a belt whose time begins anew"""
        for strategy in STRATEGIES:
            limiter, belt = self.limiter(strategy)
            belt.advance(10 ** 6)
            item = limits.parse("5/minute")
            self.assertEqual(self.hits(limiter, item, 2), 2)
            belt.advance(20)
            self.assertEqual(self.hits(limiter, item, 2), 2)
            belt = reload(belt)
            storage = storage_from_string(f"hashbelt://{belt.name}")
            limiter = STRATEGIES[strategy](storage)
            belt.advance(20)
            self.assertEqual((self.hits(limiter, item, 2), limiter.test(item, "user")), (1, False))
            # After this 60 s have passed since the first two hits, then 60 s since the next two.
            for pause, passes in {"fixed-window": ((20, 5), (20, 0)),
                                  "fixed-window-elastic-expiry": ((20, 0), (20, 0)),
                                  "moving-window": ((20, 2), (20, 2)),
                                  SLIDING: ((20, 0), (20, 2))}[strategy]:
                belt.advance(pause)
                self.assertEqual(self.hits(limiter, item, 6), passes)
            belt.close()


if SLIDING in STRATEGIES:
    class Counters(BeltCase):
        limiter, hits = Windows.limiter, Windows.hits

        def test_sliding(self):
            """a sliding window counter weighs the hits of the window before"""
            limiter, belt = self.limiter(SLIDING)
            item = limits.parse("10/minute")
            for pause, passes in ((0, 10), (59.999, 0), (0.001, 0), (0.001, 1), (5.999, 0),
                                  (0.001, 1), (24, 4), (29.999, 4), (200, 10)):
                if pause:
                    belt.advance(pause)
                self.assertEqual(limiter.test(item, "user"), passes > 0)
                self.assertEqual(self.hits(limiter, item, 12), passes)

        def test_sliding_stats(self):
            """get_sliding_window: the hits of two windows, and how long each still counts"""
            limiter, belt = self.limiter(SLIDING)
            item = limits.parse("10/minute")
            key = item.key_for("user")
            self.assertEqual(self.storage.get_sliding_window(key, 60), (0, 0.0, 0, 0.0))
            self.hits(limiter, item, 4)
            belt.advance(20)
            self.assertEqual(self.storage.get_sliding_window(key, 60), (0, 0.0, 4, 100.0))
            belt.advance(50)
            self.hits(limiter, item, 1)
            self.assertEqual(self.storage.get_sliding_window(key, 60), (4, 50.0, 1, 110.0))
            self.storage.clear(key)
            self.assertEqual(list(belt), [])


class Storages(BeltCase):
    def storage(self):
        """A storage on a belt, and the belt."""
        belt = self.make()
        return storage_from_string(f"hashbelt://{belt.name}"), belt

    def test_expiry(self):
        """get_expiry: the end of the window, and the present for a key without one"""
        storage, belt = self.storage()
        storage.incr("key", 60)
        belt.advance(20)
        for key, left in (("key", 40), ("other", 0)):
            before = time.time()
            self.assertTrue(before + left < storage.get_expiry(key) < time.time() + left + 1.1)
        self.assertEqual((storage.get("key"), storage.get("other")), (1, 0))

    def test_clear(self):
        """clear forgets one limit in both kinds of window, and reset all"""
        storage, belt = self.storage()
        for key in ("a", "b"):
            storage.incr(key, 60)
            self.assertTrue(storage.acquire_entry(key, 1, 60))
        storage.clear("a")
        self.assertEqual((storage.get("a"), storage.get("b")), (0, 1))
        self.assertEqual((storage.acquire_entry("a", 1, 60), storage.acquire_entry("b", 1, 60)),
                         (True, False))
        self.assertIsNone(storage.reset())
        self.assertEqual(list(belt), [])

    def test_check(self):
        """check is false without a belt, and true again when there is one"""
        name = self.make().name + "-late"
        storage = storage_from_string(f"hashbelt://{name}")
        self.assertFalse(storage.check())
        self.assertRaises(hashbelt.NoBelt, storage.incr, "key", 60)
        for _ in range(2):
            hashbelt.create(name)
            self.assertTrue(storage.check())
            self.assertEqual(storage.incr("key", 60), 1)
            hashbelt.destroy(name)
            self.assertFalse(storage.check())

    def test_async(self):
        """the storage for limits.aio counts the hits of the other one, with each strategy"""
        names = {"fixed-window": "FixedWindowRateLimiter",
                 "fixed-window-elastic-expiry": "FixedWindowElasticExpiryRateLimiter",
                 "moving-window": "MovingWindowRateLimiter",
                 SLIDING: "SlidingWindowCounterRateLimiter"}
        for strategy, kind in STRATEGIES.items():
            storage, belt = self.storage()
            another = storage_from_string(f"async+hashbelt://{belt.name}")
            limiter = getattr(later, names[strategy])(another)
            item = limits.parse("3/minute")

            async def use():
                self.assertTrue(await another.check())
                found = [await limiter.hit(item), await limiter.hit(item),
                         kind(storage).hit(item), await limiter.hit(item), await limiter.test(item),
                         (await limiter.get_window_stats(item))[1]]
                await another.clear(item.key_for())
                found.append(await limiter.hit(item))
                await another.reset()
                return found

            self.assertEqual(asyncio.run(use()), [True, True, True, False, False, 0, True])
            self.assertEqual(list(belt), [])

    def test_copies(self):
        """a copy of a storage, and one from a pickle, count hits in its belt"""
        belt = self.make()
        for scheme in ("hashbelt", "async+hashbelt"):
            storage = storage_from_string(f"{scheme}://{belt.name}")
            self.assertTrue(storage.belt)
            for made in (copy.deepcopy(storage), pickle.loads(pickle.dumps(storage))):
                self.assertIs(type(made), type(storage))
                self.assertEqual(made.belt.name, belt.name)

    def test_options(self):
        """the address names the belt, and the option owner its owner"""
        belt = self.make()
        storage = storage_from_string(f"hashbelt://{belt.name}", owner=4711)
        self.assertRaises(hashbelt.NotAllowed, storage.get, "key")
        self.assertEqual(storage_from_string("hashbelt://").get("no such limit"), 0)


main()
