#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""abi.py - compare the module that bindings/python/generate.py writes with the compiler of C.

Prints each constant, structure, member and function that the module lacks or has otherwise. The
compiler says which there are, so what the generator does not see is found.
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = ("hashbelt_version.h", "hashbelt/client.h")
COMPILER = ["gcc", "-D__SANE_USERSPACE_TYPES__", f"-I{TOP}", f"-I{TOP}/tools/lib"]
BEGINNING = "".join(f"#include <{header}>\n" for header in HEADERS) + r"""
#include <stddef.h>
#include <stdio.h>
#define SHOW(x) printf(_Generic((x), char *: #x " %s\n", int: #x " %d\n", \
    unsigned int: #x " %u\n", unsigned long: #x " %lu\n", unsigned long long: #x " %llu\n"), x)
#define PLACE(s, m) \
    printf(#s "." #m " %zu %zu\n", offsetof(struct s, m), sizeof(((struct s *)0)->m))
#define SIZE(s) printf(#s " %zu\n", sizeof(struct s))
int main(void)
{
"""


def generated(directory):
    """The module."""
    path = os.path.join(directory, "_abi.py")
    subprocess.run([sys.executable, f"{TOP}/bindings/python/generate.py", path], check=True)
    loader = SourceFileLoader("_abi", path)
    module = module_from_spec(spec_from_loader("_abi", loader))
    loader.exec_module(module)
    return module


def compiler(*options, text=BEGINNING):
    """The output of the compiler for a program."""
    return subprocess.run([*COMPILER, *options, "-x", "c", "-"], input=text, check=True,
                          capture_output=True, text=True).stdout


def constants(module):
    """For each constant of the headers a statement of C, and the line that it should print."""
    macros = re.findall(r"^#define (HASHBELT_\w+) \S", compiler("-E", "-dM"), re.MULTILINE)
    values = [name for body in re.findall(r"enum hashbelt_\w+ \{([^}]*)\}", compiler("-E"))
              for name in re.findall(r"\bHASHBELT_\w+", body)]
    for name in sorted({name for name in macros + values if not name.startswith("HASHBELT_IOC_")}):
        yield f"SHOW({name});", f"{name} {getattr(module, name.removeprefix('HASHBELT_'), None)}"


def structures(module):
    """The same for each structure, and for each member."""
    for tag in sorted(set(re.findall(r"struct (hashbelt_\w+)\s*\{", compiler("-E")))):
        found = getattr(module, "".join(word.capitalize() for word in tag.split("_")[1:]), None)
        yield f"SIZE({tag});", f"{tag} {ctypes.sizeof(found) if found else None}"
        for member in members(found) if found else ():
            field = getattr(found, member)
            yield f"PLACE({tag}, {member});", f"{tag}.{member} {field.offset} {field.size}"


def members(structure):
    """The names of the members of a structure, those of unions without a name included."""
    hidden = getattr(structure, "_anonymous_", ())
    for name, kind, *_ in structure._fields_:
        if name in hidden:
            yield from members(kind)
        else:
            yield name


def main():
    """Print what differs, and the functions that the library exports, and the module lacks."""
    with tempfile.TemporaryDirectory() as directory:
        module = generated(directory)
        statements, expected = zip(*constants(module), *structures(module))
        assert len(statements) > 200, statements
        compiler("-o", f"{directory}/program", text="\n".join((BEGINNING, *statements, "}")))
        found = subprocess.run([f"{directory}/program"], check=True, capture_output=True, text=True)
    for ours, theirs in zip(expected, found.stdout.splitlines(), strict=True):
        if ours != theirs:
            print(f"generate.py: expected {theirs}, found {ours}")
    with open(f"{TOP}/tools/lib/libhashbelt.map", encoding="ascii") as file:
        exported = set(re.findall(r"^\thashbelt_(\w+);", file.read(), re.MULTILINE))
    for name in sorted(exported ^ set(module.FUNCTIONS)):
        print(f"generate.py: hashbelt_{name}: expected in libhashbelt.map and in client.h")


main()
