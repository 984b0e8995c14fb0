#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Write the module hashbelt._abi from the headers of libhashbelt.

generate.py [OUTPUT]: the default is hashbelt/_abi.py beside this file.

It takes from hashbelt_version.h, hashbelt.h and tools/lib/hashbelt/client.h what has the prefix
HASHBELT_ or hashbelt_, without that prefix: each constant and macro but the numbers of ioctl(2),
which the library knows; each structure; the rows of HASHBELT_COUNTERS and HASHBELT_CALLS; and the
prototype of each function. What it does not understand is an error.
"""

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
HEADERS = tuple(os.path.join(TOP, *path) for path in (
    ("hashbelt_version.h",), ("hashbelt.h",), ("tools", "lib", "hashbelt", "client.h")))
OUTPUT = os.path.join(HERE, "hashbelt", "_abi.py")

# Types of C without "const". A pointer is a c_void_p, to which ctypes converts byref() and bytes.
TYPES = {"__u64": "ctypes.c_uint64", "__s64": "ctypes.c_int64", "__u32": "ctypes.c_uint32",
         "__s32": "ctypes.c_int32", "char": "ctypes.c_char", "int": "ctypes.c_int",
         "unsigned int": "ctypes.c_uint", "size_t": "ctypes.c_size_t",
         "ssize_t": "ctypes.c_ssize_t", "uid_t": "ctypes.c_uint32", "void": "None"}

PARTS = re.compile(r"""
    ^\#define\ HASHBELT_(?P<define>\w+)(?P<parameters>\([^)]*\))?(?P<text>[^\n]*)$ |
    ^enum\ hashbelt_\w+\ \{(?P<enum>[^}]*)\}; |
    ^(?:__extension__\ )?struct\ hashbelt_(?P<struct>\w+)\ \{\n(?P<members>.*?)\n\}; |
    ^(?P<result>\w[\w ]*[ *])hashbelt_(?P<function>\w+)\((?P<arguments>[^;{]*)\);
""", re.MULTILINE | re.DOTALL | re.VERBOSE)
MEMBER = re.compile(r"(?:struct hashbelt_)?(\w+) (\w+)(?:\[([\w /]+)\])?$")

# Lines of Python, and the values of constants and macros.
Lines = Iterator[str]
Names = dict[str, Any]


def read(path: str) -> str:
    """The text of a header without comments, and with each directive on one line."""
    with open(path, encoding="ascii") as file:
        text = file.read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\\\n\s*", "", text)
    return re.sub(r"^(#.*?)\s+$", r"\1", text, flags=re.MULTILINE)


def translate(text: str) -> str:
    """An expression of C in Python, with names without their prefix."""
    return re.sub(r"\b(0x[0-9a-fA-F]+|[0-9]+)[uUlL]+\b", r"\1",
                  re.sub(r"\bHASHBELT_", "", text)).strip()


def evaluate(text: str, names: Names) -> Any:
    """The value of an expression of C. A negative one stands for one of 64 bits, as ~0ULL does."""
    try:
        value = eval(translate(text), {"__builtins__": {}}, names)  # pylint: disable=eval-used
    except (SyntaxError, NameError, TypeError) as error:
        raise ValueError(f"this expression of a header is not simple enough: {text}") from error
    return value % 2 ** 64 if isinstance(value, int) else value


def constant(name: str, value: Any, names: Names) -> Lines:
    """Define a constant."""
    names[name] = value
    yield f"{name}: Final = {value!r}"


def table(name: str, text: str, names: Names) -> Lines:
    """The rows X(HASHBELT_NAME, "name", TEXT) of a list, in the order of their constants."""
    rows = re.findall(r'X\(HASHBELT_(\w+), "(\w+)", (.*?)\)(?=\s*X\(|$)', text)
    if len(rows) != text.count("X("):
        raise ValueError(f"the rows of HASHBELT_{name} have another form")
    names[name] = [row[0] for row in rows]
    yield f"{name}: Final = ("
    for _, row, third in rows:
        yield f'    ("{row}", {evaluate(third, names)!r}),'
    yield ")"


def define(name: str, parameters: str | None, text: str, names: Names) -> Lines:
    """A constant, a macro, or a list of rows."""
    if name.startswith("IOC_") or not text.strip():
        return
    if parameters == "(X)":
        yield from table(name, text, names)
    elif parameters:
        names[name] = eval(f"lambda {parameters[1:-1]}: {translate(text)}", names)
        arguments = ", ".join(f"{word.strip()}: int" for word in parameters[1:-1].split(","))
        yield from ("", "", f"def {name}({arguments}) -> int:", f"    return {translate(text)}",
                    "", "")
    else:
        yield from constant(name, evaluate(text, names), names)


def enumerate_values(text: str, names: Names) -> Lines:
    """The constants of an enum."""
    following = 0
    for part in filter(None, (part.strip() for part in re.split(r",|(?<=\))", text))):
        rows = re.fullmatch(r"HASHBELT_(\w+)\(__HASHBELT_\w+\)", part)
        for word in names[rows[1]] if rows else [part]:
            name, _, value = word.removeprefix("HASHBELT_").partition("=")
            following = evaluate(value, names) if value else following
            yield from constant(name.strip(), following, names)
            following += 1


def class_name(name: str) -> str:
    """The name of the class of a structure: hashbelt_lock_record is LockRecord."""
    return "".join(word.capitalize() for word in name.split("_"))


def fields(members: str, names: Names) -> Iterator[tuple[str, str, str]]:
    """The name, the type and the type in Python of each member of a structure or union."""
    for member in filter(None, (member.strip() for member in members.split(";"))):
        found = MEMBER.match(member)
        if not found:
            raise ValueError(f"the member '{member}' has another form")
        kind, name, count = found.groups()
        python = "bytes" if kind == "char" else "int" if kind in TYPES else class_name(kind)
        kind = TYPES.get(kind, class_name(kind))
        if count:
            kind += f" * {evaluate(count.replace('/', '//'), names)}"
            python = python if python == "bytes" else f"ctypes.Array[{kind.split(' ')[0]}]"
        yield name, kind, python


def structure(name: str, members: str, names: Names, base: str = "Structure") -> Lines:
    """A structure or a union. The members of a union without a name are those of the structure."""
    union = re.search(r"union\s*\{([^}]*)\}", members)
    hidden: list[tuple[str, str, str]] = []
    if union:
        yield from structure(name + "_union", union[1], names, "Union")
        hidden = list(fields(union[1], names))
        members = members.replace(union[0], f"struct hashbelt_{name}_union union")
    found = list(fields(members, names))
    yield from ("", "", f"class {class_name(name)}(ctypes.{base}):")
    for member, _, python in found + hidden:
        if member != "union":
            yield f"    {member}: {python}"
    if union:
        yield '    _anonymous_ = ("union",)'
    yield "    _fields_ = ("
    for member, kind, _ in found:
        yield f'        ("{member}", {kind}),'
    yield "    )"


def type_of(text: str) -> str:
    """The class of ctypes of an argument or a result of C, without its name."""
    if "*" in text:
        return "ctypes.c_void_p"
    return "ctypes.c_int" if text.startswith("enum ") else TYPES[text]


def prototype(name: str, result: str, arguments: str) -> str:
    """A row of FUNCTIONS."""
    words = [re.sub(r"\s+", " ", part).strip() for part in arguments.split(",")]
    types = [type_of(re.sub(r"\w+$", "", word.removeprefix("const ")).strip()) for word in words]
    result = "ctypes.c_char_p" if "char *" in result else type_of(result.strip())
    return f'    "{name}": ({result}, ({", ".join(types)},)),'


def generate() -> str:
    """The text of the module."""
    names: Names = {}
    lines = ["# SPDX-License-" + "Identifier: LGPL-2.1-or-later",
             '"""The interface of libhashbelt, which generate.py takes from its headers."""', "",
             "import ctypes", "from typing import Any, Final", ""]
    functions = []
    for path in HEADERS:
        for part in PARTS.finditer(read(path)):
            if part["define"]:
                lines += define(part["define"], part["parameters"], part["text"], names)
            elif part["enum"]:
                lines += enumerate_values(part["enum"], names)
            elif part["struct"]:
                lines += structure(part["struct"], part["members"], names)
                lines += ["", ""]
            elif not part["result"].startswith("static"):
                functions.append(prototype(part["function"], part["result"], part["arguments"]))
    lines += ["", "# The type of the result and those of the arguments of each function.",
              "FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {", *functions, "}"]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)) + "\n"


def find() -> str:
    """The text of the module. A source distribution has the module in place of the headers."""
    if os.path.exists(HEADERS[0]):
        return generate()
    with open(OUTPUT, encoding="ascii") as file:
        return file.read()


def write(output: str) -> None:
    """Write the module. Two processes may do so at once."""
    text = find()
    temporary = f"{output}.{os.getpid()}"
    with open(temporary, "w", encoding="ascii") as file:
        file.write(text)
    os.replace(temporary, output)


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else OUTPUT)
