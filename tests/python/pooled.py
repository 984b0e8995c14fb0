# SPDX-License-Identifier: GPL-2.0-only
"""Used by copies_test.py: what processes of multiprocessing call, which import this module."""

import os

import hashbelt

NAME = "python-pooled"

if os.environ.get("POOLED"):
    belt = hashbelt.open(NAME, hashbelt.JSON())

    @belt.cached(ttl=60)
    def double(number):
        """Twice the number, and the process that has computed it."""
        return [2 * number, os.getpid()]


def store(belt, key):
    """Store the number of the process."""
    belt[key] = os.getpid()


def take(lock):
    """Take a lock of the parent, which has it."""
    try:
        lock.acquire()
    except hashbelt.LockTimeout:
        return "refused"
    return "taken"


def fail(error):
    """Raise an exception of the package."""
    raise error
