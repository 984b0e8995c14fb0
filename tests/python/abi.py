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
PROGRAM = r"""
#include <stddef.h>
#include <stdio.h>
#define SHOW(x) printf(_Generic((x), char *: "%s\n", int: "%d\n", unsigned int: "%u\n", \
    unsigned long: "%lu\n", unsigned long long: "%llu\n"), x)
"""


def generated(directory):
    """The module."""
    path = os.path.join(directory, "_abi.py")
    subprocess.run([sys.executable, f"{TOP}/bindings/python/generate.py", path], check=True)
    loader = SourceFileLoader("_abi", path)
    module = module_from_spec(spec_from_loader("_abi", loader))
    loader.exec_module(module)
    return module


def preprocess(*options):
    """The headers after the preprocessor."""
    source = "".join(f"#include <{header}>\n" for header in HEADERS)
    return subprocess.run([*COMPILER, "-E", *options, "-"], input=source, check=True,
                          capture_output=True, text=True).stdout


def run(directory, lines):
    """The lines that a program of C prints."""
    source, program = f"{directory}/program.c", f"{directory}/program"
    with open(source, "w", encoding="ascii") as file:
        file.write("".join(f"#include <{header}>\n" for header in HEADERS) + PROGRAM)
        file.write("int main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    subprocess.run([*COMPILER, "-o", program, source], check=True)
    return subprocess.run([program], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def constants():
    """The names of the constants of the headers, with their prefix."""
    macros = re.findall(r"^#define (HASHBELT_\w+) \S", preprocess("-dM"), re.MULTILINE)
    values = [name for body in re.findall(r"enum hashbelt_\w+ \{([^}]*)\}", preprocess())
              for name in re.findall(r"\bHASHBELT_\w+", body)]
    return sorted({name for name in macros + values if not name.startswith("HASHBELT_IOC_")})


def compare_constants(directory, module):
    """Print the constants that differ."""
    names = constants()
    assert len(names) > 100, names
    for name, value in zip(names, run(directory, [f"SHOW({name});" for name in names]),
                           strict=True):
        found = getattr(module, name.removeprefix("HASHBELT_"), None)
        if str(found) != value:
            print(f"generate.py: {name}: expected {value}, found {found}")


def compare_structures(directory, module):
    """Print the structures and members that differ."""
    tags = sorted(set(re.findall(r"struct (hashbelt_\w+)\s*\{", preprocess())))
    assert len(tags) > 10, tags
    lines, expected = [], []
    for tag in tags:
        name = "".join(word.capitalize() for word in tag.split("_")[1:])
        found = getattr(module, name, None)
        if found is None:
            print(f"generate.py: struct {tag}: expected a class {name}")
            continue
        expected.append(f"{tag} {ctypes.sizeof(found)}")
        lines.append(f'printf("{tag} %zu\\n", sizeof(struct {tag}));')
        for member in members(found):
            field, place = getattr(found, member), f"((struct {tag} *)0)->{member}"
            expected.append(f"{tag}.{member} {field.offset} {field.size}")
            lines.append(f'printf("{tag}.{member} %zu %zu\\n", offsetof(struct {tag}, {member}), '
                         f'sizeof({place}));')
    for line, found in zip(run(directory, lines), expected, strict=True):
        if line != found:
            print(f"generate.py: expected place and size {line}, found {found}")


def members(structure):
    """The names of the members of a structure, those of unions without a name included."""
    hidden = getattr(structure, "_anonymous_", ())
    for name, kind, *_ in structure._fields_:
        if name in hidden:
            yield from members(kind)
        else:
            yield name


def compare_functions(module):
    """Print the functions that the library exports, and the module lacks, or the reverse."""
    with open(f"{TOP}/tools/lib/libhashbelt.map", encoding="ascii") as file:
        exported = set(re.findall(r"^\thashbelt_(\w+);", file.read(), re.MULTILINE))
    for name in sorted(exported ^ set(module.FUNCTIONS)):
        print(f"generate.py: hashbelt_{name}: expected in libhashbelt.map and in client.h")


def main():
    """Compare all."""
    with tempfile.TemporaryDirectory() as directory:
        module = generated(directory)
        compare_constants(directory, module)
        compare_structures(directory, module)
        compare_functions(module)


main()
