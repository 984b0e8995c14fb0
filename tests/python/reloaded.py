# SPDX-License-Identifier: GPL-2.0-only
"""Used by the tests of what a dump keeps: a belt that is loaded again, as after a reboot."""

import subprocess

from tap import hashbelt


def age(belt):
    """Move the time of a belt far from its beginning."""
    belt.advance(10 ** 6)


def reload(belt):
    """Dump a belt, destroy it, and load it into a new one of that name, whose time begins anew.

    Returns the new one, whose time stands still. What was open has no belt any more.
    """
    was = belt.info().now_ns
    dump = subprocess.run(["hbctl", "-b", belt.name, "dump"], check=True, capture_output=True)
    hashbelt.destroy(belt.name)
    hashbelt.create(belt.name, ttl=3600)
    new = hashbelt.open(belt.name)
    new.halt()
    assert new.info().now_ns < was
    subprocess.run(["hbctl", "-b", belt.name, "load"], check=True, input=dump.stdout,
                   capture_output=True)
    return new
