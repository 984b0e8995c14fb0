#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Greenlets of gevent and eventlet: fills, locks and events of one thread."""

import subprocess
import sys

from tap import PATIENCE, TOP, BeltCase, hashbelt, main

# The beginning of each program: the patch comes first, as the documents of both demand.
BEGIN = {
    "gevent": """
from gevent import monkey
monkey.patch_all()
import gevent
from gevent import sleep
spawn = gevent.spawn
def results(jobs):
    return [job.get() for job in jobs]
""",
    "eventlet": """
import warnings
warnings.simplefilter("ignore")
import eventlet
eventlet.monkey_patch()
from eventlet import sleep
spawn = eventlet.spawn
def results(jobs):
    return [job.wait() for job in jobs]
""",
}

FILL = """
def compute():
    sleep(0.01)
    return b"value"
jobs = [spawn(belt.get_or_set, "key", compute) for _ in range(4)]
print(results(jobs), belt["key"])
"""

LOCK = """
inside = [0, 0, 0]
def work():
    try:
        with belt.lock("name", timeout=0):
            with belt.lock("name"):
                inside[0] += 1
                inside[1] = max(inside[:2])
                sleep(0.01)
                inside[0] -= 1
    except hashbelt.LockTimeout:
        inside[2] += 1
results([spawn(work) for _ in range(4)])
def wait():
    try:
        belt.lock("name").acquire()
    except hashbelt.LockTimeout as error:
        return str(error)
with belt.lock("name"):
    text = results([spawn(wait)])[0]
print(inside, belt.info().locks, "while this one waits" in text)
"""

DOGPILE = """
import hashbelt.dogpile
from dogpile.cache import make_region
region = make_region().configure("hashbelt", arguments={"belt": belt.name})
def compute():
    sleep(0.01)
    return "value"
jobs = [spawn(region.get_or_create, "key", compute) for _ in range(4)]
print(results(jobs), region.get_or_create("key", compute), belt.delete("key/mutex"))
mutex = region.backend.get_mutex("free")
print(mutex.acquire(False), mutex.release(), mutex.acquire(False))
"""

EVENTS = """
events = belt.events()
jobs = [spawn(next, events) for _ in range(2)]
sleep(0.01)
for key in ("a", "b"):
    belt[key] = b""
    belt.delete(key)
print(sorted(event.key for event in results(jobs)))
"""


class Greenlets(BeltCase):
    def run_both(self, text, expected, **settings):
        """Run a program with gevent and with eventlet."""
        for begin in BEGIN.values():
            name = self.make(**settings).name
            done = subprocess.run(
                [sys.executable, "-c", f"{begin}import sys\nsys.path.insert(0, '{TOP}/bindings/"
                 f"python')\nimport hashbelt\nbelt = hashbelt.open('{name}')\n{text}"],
                capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual((done.stdout, done.stderr, done.returncode), (f"{expected}\n", "", 0))

    def test_fill(self):
        """greenlets that ask for a key that another one computes compute, and do not hang"""
        self.run_both(FILL, "[b'value', b'value', b'value', b'value'] b'value'")

    def test_mutex(self):
        """greenlets that get a key of dogpile.cache that another one creates create it, too"""
        self.run_both(DOGPILE, "['value', 'value', 'value', 'value'] value False\n"
                      "True None True")

    def test_lock(self):
        """each greenlet is an owner, and one that would stop the owner gets LockTimeout"""
        self.run_both(LOCK, "[0, 1, 3] 0 True", policy=hashbelt.abi.PINNED)

    def test_events(self):
        """two greenlets wait for events of one object"""
        self.run_both(EVENTS, "[b'a', b'b']", handler=hashbelt.abi.NOTIFY,
                      reasons=hashbelt.abi.REPORT_ALL)


main()
