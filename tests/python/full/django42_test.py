#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""django_test.py with the Django of Debian 13, which has async methods."""

import os
import runpy
import sys

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [DIRECTORY, "/django/4.2/lib"]

import django  # noqa: E402

assert django.VERSION[:2] == (4, 2), django.VERSION
runpy.run_path(os.path.join(DIRECTORY, "django_test.py"), run_name="__main__")
