#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""own.py DIRECTORY VERSION - run Django's own tests of caches and of cached sessions on belts.

The directory has Django's tests. In a copy of them, hashbelt's backend replaces Django's
LocMemCache. Not run are tests of Django's other backends; those of culling, which skip themselves;
and those that look into LocMemCache.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(HERE))),
                       "bindings", "python")
sys.path.insert(0, PACKAGE)

import hashbelt  # noqa: E402

THEIRS = "django.core.cache.backends.locmem.LocMemCache"
OURS = "hashbelt.django.BeltCache"
# The belts that Django's tests name, beside the default one.
LOCATIONS = ("other", "unique-snowflake", "session")
# The least number of tests, and the number of those that skip themselves: test_cull,
# test_zero_cull, test_cull_delete_when_store_empty.
SETS = (("caches", ["cache.belt_tests"], 107, 3),
        ("cached sessions", ["sessions_tests.tests.CacheSessionTests",
                             "sessions_tests.tests.CacheDBSessionTests",
                             "sessions_tests.tests.CacheDBSessionWithTimeZoneTests"], 120, 0))


def copy_tests(directory, to):
    """Copy Django's tests, with belts in the place of LocMemCache."""
    shutil.copytree(os.path.join(directory, "tests"), to)
    for name in ("cache", "sessions_tests"):
        path = os.path.join(to, name, "tests.py")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert THEIRS in text
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(THEIRS, OURS))
    shutil.copy(os.path.join(HERE, "belt_tests.py"), os.path.join(to, "cache"))
    shutil.copy(os.path.join(HERE, "belt_settings.py"), to)


def judge(output, status, least, skipped):
    """The fault in the output of Django's runner, or an empty text."""
    ran = re.search(r"^Ran (\d+) tests? ", output, re.M)
    skips = re.search(r"^OK(?: \(skipped=(\d+)\))?$", output, re.M)
    found = int(ran[1]) if ran else 0, int(skips[1] or 0) if skips else None
    if status or found[0] < least or found[1] != skipped:
        return (f"expected status 0, at least {least} tests, {skipped} skipped; "
                f"found {status}, {found[0]}, {found[1]}")
    return ""


def main(directory, version):
    """Run the sets of tests, and print their results."""
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    failed = False
    print(f"1..{len(SETS) + 1}", flush=True)
    found = subprocess.run([sys.executable, "-m", "django", "--version"], env=environment,
                           stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    print(f"{'ok' if found.startswith(version) else 'not ok'} 1 - this is Django {version}")
    for belt in LOCATIONS:
        hashbelt.create(belt)
    with tempfile.TemporaryDirectory() as temporary:
        copy_tests(directory, os.path.join(temporary, "tests"))
        for number, (name, labels, least, skipped) in enumerate(SETS, 2):
            run = subprocess.run(
                [sys.executable, "runtests.py", "--settings=belt_settings", "--parallel=1",
                 "--verbosity=2", *labels], cwd=os.path.join(temporary, "tests"), check=False,
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            wrong = judge(run.stdout, run.returncode, least, skipped)
            failed = failed or bool(wrong)
            result = "not ok" if wrong else "ok"
            if wrong:
                print("".join(f"# {line}\n" for line in (*run.stdout.splitlines(), wrong)), end="")
            print(f"{result} {number} - Django's tests of {name} pass on belts", flush=True)
    for belt in LOCATIONS:
        hashbelt.destroy(belt)
    sys.exit(failed or not found.startswith(version))


main(sys.argv[1], sys.argv[2])
