# SPDX-License-Identifier: GPL-2.0-only
"""Settings for Django's tests: those of its test_sqlite.py, and caches in belts."""

from test_sqlite import *  # noqa: F401,F403

CACHES = {"default": {"BACKEND": "hashbelt.django.BeltCache"}}
