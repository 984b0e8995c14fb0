# SPDX-License-Identifier: GPL-2.0-only
"""theme.py USER THEME - as theme.cc, with the package for Python."""

import sys

import hashbelt

user, theme = sys.argv[1:]
with hashbelt.open("shop") as shop:
    print(f"{user}: {shop[f'session:{user}'].decode()}")
    shop[f"session:{user}"] = f"theme={theme}".encode()
