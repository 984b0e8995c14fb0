# SPDX-License-Identifier: GPL-2.0-only
"""The belts of cases, by the package hashbelt for Python."""

import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "bindings", "python"))

import hashbelt  # noqa: E402

NAME = "conformance"


def create(settings):
    """Create the belt of a case."""
    abi = hashbelt.abi
    settings = dict(settings)
    policy = abi.KEEP_ON_PUT if settings.pop("on_put", "") == "keep" else 0
    policy |= abi.REFRESH_ON_GET if settings.pop("refresh_on_get", False) else 0
    policy |= abi.EVICT if settings.pop("when_full", "") == "evict" else 0
    policy |= abi.PINNED if settings.pop("pinned", False) else 0
    reasons = sum(1 << hashbelt.Reason[reason.upper()] for reason in settings.pop("report", []))
    handler = getattr(abi, settings.pop("on_expire", "drop").upper())
    mode = int(settings.pop("mode", "0600"), 8)
    hashbelt.create(NAME, policy=policy, reasons=reasons, handler=handler, mode=mode,
                    **{"ttl": 3600, **settings})


def begin(settings):
    """Create the belt of a case, whose time stands still. Returns a handle."""
    create(settings)
    belt = hashbelt.open(NAME)
    belt.halt()
    return belt


def end():
    """Destroy the belt, if the case has not."""
    try:
        hashbelt.destroy(NAME)
    except hashbelt.NoBelt:
        pass
