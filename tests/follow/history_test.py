#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""history_test.py [WRITES [SEED]] - no read of a followed belt is older than what was delivered.

Three belts, each with its hbfollow, stand for three machines. Writers change keys of an engine; readers get
keys of a belt, and fill absent ones from the engine, with a pause between the fetch and the put.

Each read is checked against the values that were current at the engine between its start minus the delay of
delivery and its end. What was delivered is not guessed from a time: on each belt, again and again, a marker is
put, and then written at the engine. When the marker is gone from the belt, each write that ended before the
marker was put has been delivered, or the belt was cleared since. A read that begins then must not return a
value that such a write has replaced.

A writer makes twice that many WRITES.
"""

import bisect
import mmap
import random
import sys
import time

from follow import Belt, Follower, at_last, equal, finish, result, true
from world import NONE, Child, hashbelt, link, make_postgresql, make_redis, now

BELTS = 3
READERS = 2         # of each belt
WRITERS = 2
HOT = 4             # keys of each writer that are written often
COLD = 12
PAUSE = 0.004       # at most, between a fetch and its put, and between reads, seconds

count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1


def keys_of(writer):
    return [f'page:{"hot" if i < HOT else "cold"}:{writer}:{i}' for i in range(HOT + COLD)]


ALL = [key for writer in range(WRITERS) for key in keys_of(writer)]


def write(engine, writes, number, chance):
    """Write random keys. Returns (key, value, start, end) of each write; each key has one writer."""
    client = link(engine)
    keys = keys_of(number)
    done = []
    while len(done) < writes:
        key = chance.choice(keys[:HOT] if chance.random() < 0.8 else keys)
        value = None if chance.random() < 0.2 else len(done) + 1
        start = now()
        client.write(key, value)
        done.append((key, NONE if value is None else b'%d' % value, start, now()))
        # Some pauses are long enough for a value that has come too late to be read.
        time.sleep(chance.random() * (0.2 if chance.random() < 0.05 else 0.01))
    return done


def read(engine, ends, belt, chance):
    """Read random keys. Returns (key, value, start, end, whether the belt had it) of each read."""
    client = link(engine)
    belt = hashbelt.open(belt)
    done = []
    fetched = []

    def fetch():
        fetched.append(client.read(key))
        time.sleep(chance.random() * PAUSE)
        return fetched[-1]

    while not ends[0]:
        key = chance.choice(ALL)
        del fetched[:]
        start = now()
        value = belt.get_or_set(key, fetch)
        done.append((key, value, start, now(), not fetched))
        # Leaves the processors to others.
        time.sleep(chance.random() * PAUSE)
    return done


def mark(engine, ends, name):
    """Put markers. Returns (time before it was put, time at which it was gone) of each, and of the last."""
    client = link(engine)
    belt = hashbelt.open(name)
    done = []
    stopped = False
    while True:
        # One more after all is quiet.
        is_last, stopped = stopped, ends[0]
        key = f'page:marker:{name}:{len(done)}'
        start = now()
        belt.set(key, b'')
        client.write(key, len(done))
        if not at_last(lambda: key not in belt):
            raise RuntimeError('a change is not delivered')
        done.append((start, now()))
        if is_last:
            return done


class Checker:
    """All writes of a run, before which no key had a value, and the markers of one belt."""

    def __init__(self, writes, markers, began):
        self.writes = {key: [(NONE, 0, began)] for key in ALL}
        for key, value, start, end in writes:
            self.writes[key].append((value, start, end))
        self.gone = [end for _, end in markers]
        self.covered = [start for start, _ in markers]
        self.oldest = 0

    def horizon(self, when):
        """The time of which each earlier write was delivered at that time."""
        last = bisect.bisect_right(self.gone, when)
        return self.covered[last - 1] if last else 0

    def is_right(self, record):
        """Whether a read has returned a value that it may."""
        key, value, start, end, _ = record
        horizon = self.horizon(start)
        writes = self.writes[key]
        ages = []
        for (written, begun, _), following in zip(writes, [*writes[1:], (None, None, float('inf'))]):
            if written == value and begun <= end and following[2] >= horizon:
                ages.append(max(0, start - following[2]))
        if ages:
            self.oldest = max(self.oldest, min(ages))
        return bool(ages)


def play(engine, writes, *words):
    """Play a history. Returns the wrong reads, a description, and what belts have in the end."""
    client = link(engine)
    for key in ALL:
        client.write(key, None)
    began = now()
    ends = mmap.mmap(-1, 1)     # processes share it
    names = [f'belt {number}' for number in range(BELTS)]
    followers = [Follower(Belt(name), *words) for name in names]
    for follower in followers:
        follower.wait_until(True)
    writers = [Child(write, engine, writes, number, random.Random(seed * 100 + number))
               for number in range(WRITERS)]
    readers = [[Child(read, engine, ends, name, random.Random(seed * 100 + 10 * number + reader))
                for reader in range(READERS)] for number, name in enumerate(names, 1)]
    markers = [Child(mark, engine, ends, name) for name in names]
    written = [record for writer in writers for record in writer.result()]
    ends[0] = 1
    reads = hits = 0
    wrong = []
    delays = []
    oldest = 0
    for name, tasks, marker in zip(names, readers, markers):
        marks = marker.result()
        delays += [end - start for start, end in marks]
        checker = Checker(written, marks, began)
        for task in tasks:
            records = task.result()
            reads += len(records)
            hits += sum(record[4] for record in records)
            wrong += [(name, *record) for record in records if not checker.is_right(record)]
        oldest = max(oldest, checker.oldest)
    late = []
    for name in names:
        belt = hashbelt.open(name)
        late += [(name, key, belt.get(key), client.read(key)) for key in ALL
                 if belt.get(key) not in (None, client.read(key))]
    told = [int(follower.figures()['keys_removed_total']) for follower in followers]
    for follower in followers:
        follower.stop(follower.belt.name)
    delays.sort()
    print(f'# {len(written)} writes, {reads} reads, {hits} of these hits; {len(delays)} markers, gone '
          f'after {1000 * delays[len(delays) // 2]:.0f} ms, at most {1000 * delays[-1]:.0f} ms; the oldest value '
          f'was read {1000 * oldest:.0f} ms after its end; {told} entries were removed by their keys', flush=True)
    return wrong, late, hits


def describe(wrong):
    return '\n'.join(str(record) for record in wrong[:20])


checker = Checker([(ALL[0], b'%d' % value, value, value + 0.5) for value in (1, 2)], [(4, 5)], 0)
equal('a read is wrong that returns a value which a delivered write has replaced', [False, True],
      [checker.is_right((ALL[0], value, 6, 7, True)) for value in (b'1', b'2')])
for make in (make_redis, make_postgresql):
    name = make.__name__[5:]
    engine, words = make()
    wrong, late, hits = play(engine, 2 * count, *words)
    result(f'{name}: no read returns a value that a delivered write has replaced', describe(wrong))
    true(f'{name}: belts had values that were read', hits > count, f'{hits} hits')
    result(f'{name}: in the end each belt has the value of the engine or none', describe(late))
    engine.kill()
finish()
