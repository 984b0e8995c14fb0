#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""interface.py - what other files repeat of the interface: ioctls, structures, constants, functions.

interface.py layout|symbols|index|options
    Print the part of a file that generate.sh compares or writes.

interface.py check
    Print what is missing or has changed, with the file and the line: one line for each.

interface.py write
    Add what is missing in the description for fuzzing, in the record of the library's interface, and the pages of
    functions. What it adds to the description goes by the names of the members. It may be edited: it stays then. A
    page comes from the comment of the function. It stays, too, once its second line does not name this program any
    more.

The sources are hashbelt.h, HB_CALLS of device/calls.h, HASHBELT_CALLS and the prototypes of
tools/lib/hashbelt/client.h, the comments of tools/lib/*.c, and tools/manage/settings_list.h. Works in the top directory.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

HEADER = 'hashbelt.h'
CLIENT = 'tools/lib/hashbelt/client.h'
CALLS = 'device/calls.h'
MAP = 'tools/lib/libhashbelt.map'
LAYOUT = 'tests/device/layout.h'
DEVICE = 'docs/hashbelt.4'
COMMAND = 'docs/hbctl.1'
FUZZ = 'tests/fuzz/call.c'
RECORD = 'tests/build/libhashbelt.record'
SETTINGS = 'tools/manage/settings_list.h'
# These may grow: they stand for all constants of a kind, and for room that is left.
GROWS = re.compile(r'VALUE\(\w+_ALL\)|FIELD\(\w+, reserved\d*\)')
MARK = '.\\" From the comment of the function, by tests/interface.py. Without this line the page stays as it is.'


def read(path):
    """The text of a file."""
    with open(path, encoding='utf-8') as file:
        return file.read()


def plain(path):
    """A header without comments, each line where it was."""
    return re.sub(r'/\*.*?\*/', lambda found: '\n' * found[0].count('\n'), read(path), flags=re.DOTALL)


def line_of(path, pattern):
    """The place of the first line that matches, as FILE:LINE."""
    for number, line in enumerate(read(path).splitlines(), 1):
        if re.search(pattern, line):
            return f'{path}:{number}'
    return f'{path}:1'


class Member(NamedTuple):
    """A member of a structure: count is "" if it is no array; is_other: another name of the one before, by a union."""

    kind: str
    name: str
    count: str
    text: str
    is_other: bool


class Call(NamedTuple):
    """An ioctl: kind is that of _IOWR() and so on, argument the type, "" if there is none."""

    name: str
    kind: str
    argument: str


def comments(path, sign):
    """The description of each structure or function: (line, text, {name: text of @name})."""
    found = {}
    for comment in re.finditer(r'/\*\*\n(.*?)\*/', read(path), re.DOTALL):
        lines = [re.sub(r'^ \* ?', '', line) for line in comment[1].splitlines()]
        head = re.match(sign, lines[0])
        if not head:
            continue
        members, text, name = {}, [], ''
        for line in lines[1:]:
            item = re.match(r'@(\w+):\s*(.*)', line)
            if item:
                name = item[1]
                members[name] = item[2]
            elif name and re.match(r'\s+\S', line):
                members[name] += ' ' + line.strip()
            elif line.strip() or text:
                name = ''
                text.append(line.strip())
            else:
                name = ''
        found[head[1]] = (head[2], '\n'.join(text).strip(), members)
    return found


def structures():
    """The members of each structure of hashbelt.h."""
    described = comments(HEADER, r'struct hashbelt_(\w+) - (.*)')
    found = {}
    for match in re.finditer(r'^(?:__extension__ )?struct hashbelt_(\w+) \{\n(.*?)\n\};', plain(HEADER),
                             re.MULTILINE | re.DOTALL):
        union = re.search(r'\bunion\s*\{(.*?)\};', match[2], re.DOTALL)
        others = re.findall(r'(\w+);', union[1])[1:] if union else []
        members = re.findall(r'(?:struct )?(\w+) (\w+)(?:\[(\w+)\])?;', match[2])
        texts = described.get(match[1], ('', '', {}))[2]
        found[match[1]] = [Member(kind, name, count, texts.get(name, ''), name in others)
                           for kind, name, count in members]
    return found


def values():
    """The constants of hashbelt.h but for counters: their names, and their text if that is a number."""
    found = {}
    for match in re.finditer(r'^(?:#define |\t)HASHBELT_(\w+)(\(\w+\))?(?:\s*=\s*|[ \t]+|(?=,))([^\n,]*)',
                             plain(HEADER), re.MULTILINE):
        name, argument, text = match[1], match[2], match[3].strip()
        if name.startswith(('IOC_', 'STAT_')) or text.startswith('"') or argument == '(X)':
            continue
        # A macro stands for all its values: the first one is recorded.
        number = re.fullmatch(r'(0x[0-9a-fA-F]+|[0-9]+)[uUlL]*', text)
        found[name + '(1)' if argument else name] = number[1] if number else ''
    return found


def calls():
    """The ioctls of hashbelt.h."""
    rows = re.findall(r'^#define HASHBELT_IOC_(\w+)\s+(_IO\w*)\(HASHBELT_IOC_MAGIC, \w+(?:, ([\w ]+))?\)',
                      plain(HEADER), re.MULTILINE)
    return [Call(*row) for row in rows]


def rights():
    """The rights that each ioctl needs."""
    client = {name: needs for name, needs in re.findall(r'X\(HASHBELT_CALL_(\w+), "\w+", ([^)]*)\)', read(CLIENT))}
    found = {'ABI': 'NO_BELT'}
    text = re.sub(r'\s*\\\n', '\n', plain(CALLS))
    for name in re.findall(r'^\s*ITEM_CALL\((\w+)\)', text, re.MULTILINE):
        found[name] = client[name].replace('HASHBELT_MAY_', '')
    for name, needs in re.findall(r'^\s*CALL\((\w+), (.*), \w+\)', text, re.MULTILINE):
        found[name] = 'ANY' if needs == '0' else re.sub(r'MAY\((\w+)\)', r'\1', needs)
    return found


def functions():
    """The functions that client.h declares, in their order: {name: (result, arguments, group)}."""
    found, group = {}, ''
    text = re.sub(r'/\* Group: (.*?)\. \*/', r'#group \1', read(CLIENT))
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.DOTALL)
    pattern = r'^#group (.*)$|^(static inline )?([a-z]\w*[\w ]*[ *])(hashbelt_\w+)\(([^;{]*?)\)\s*[;{]'
    for match in re.finditer(pattern, text, re.MULTILINE):
        if match[1]:
            group = match[1]
        else:
            found[match[4]] = (match[3].strip(), re.sub(r'\s+', ' ', match[5]), group, bool(match[2]))
    return found


def library():
    """The binary interface of the library, of which nothing may go: prototypes, calls, structures, constants."""
    for name, (result, arguments, _, is_inline) in functions().items():
        types = ', '.join(re.sub(r'(?<=[ *])\w+$', '', argument.strip()).strip() for argument in arguments.split(','))
        if not is_inline:
            yield f'{result} {name}({types})'
    for number, call in enumerate(re.findall(r'X\((HASHBELT_CALL_\w+)', read(CLIENT))):
        yield f'{call} = {number}'
    for match in re.finditer(r'^struct (hashbelt_\w+) \{(.*?)\}|^#define (HASHBELT_\w+)[ \t]+([^\n\\]+)$', plain(CLIENT),
                             re.MULTILINE | re.DOTALL):
        yield f'struct {match[1]}: {" ".join(match[2].split())}' if match[1] else f'{match[3]} = {match[4]}'


# Parts that generate.sh writes


def compiled(lines):
    """The output of a program that has these lines in main()."""
    with tempfile.TemporaryDirectory() as work:
        with open(f'{work}/list.c', 'w', encoding='utf-8') as file:
            file.write('#include <stddef.h>\n#include <stdio.h>\n#include "hashbelt.h"\nint main(void)\n{\n'
                       + '\n'.join(lines) + '\nreturn 0;\n}\n')
        subprocess.run(['cc', '-I.', '-w', '-o', f'{work}/list', f'{work}/list.c'], check=True)
        return subprocess.run([f'{work}/list'], check=True, capture_output=True, text=True).stdout


def layout():
    """The rows of layout.h, as many in a line as have room."""
    lines = []
    for name, members in structures().items():
        kind = f'struct hashbelt_{name}'
        lines.append(f'printf("SIZE({name}, %zu)\\n", sizeof({kind}));')
        for member in members:
            lines.append(f'printf("FIELD({name}, {member.name}, %zu, %zu)\\n", offsetof({kind}, {member.name}), '
                         f'sizeof((({kind} *)0)->{member.name}));')
        lines.append('puts("");')
    needs = rights()
    for call in calls():
        lines.append(f'printf("IOCTL({call.name}, 0x%x, {needs.get(call.name, "?")})\\n", '
                     f'(unsigned int)HASHBELT_IOC_{call.name});')
    lines.append('puts("");')
    for name, text in values().items():
        number = f'(unsigned long long)HASHBELT_{name}'
        lines.append(f'puts("VALUE({name}, {text})");' if text else
                     f'printf({number} >> 32 ? "VALUE({name}, 0x%llx)\\n" : "VALUE({name}, %llu)\\n", {number});')
    text = ''
    for row in compiled(lines).splitlines():
        goes_on = row and not text.endswith('\n') and len(text) - text.rfind('\n') + len(row) < 100
        text += f' {row}' if goes_on else f'\n{row}'
    return f'{text[1:]}\n'


def rows(text):
    """The rows of layout.h by what they are about: {'FIELD(item, key)': '0, 8'}."""
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.DOTALL)
    matches = re.finditer(r'\b(SIZE|IOCTL|VALUE)\(((?:\w|\(1\))+), ([^()]*)\)|\b(FIELD)\((\w+, \w+), ([^()]*)\)', text)
    return {f'{match[1] or match[4]}({match[2] or match[5]})': match[3] or match[6] for match in matches}


def symbols():
    """The rows of the last version of libhashbelt.map: functions that no earlier one has."""
    nodes = re.findall(r'^LIBHASHBELT_[\d.]+ \{(.*?)^\}', read(MAP), re.MULTILINE | re.DOTALL)
    earlier = re.findall(r'^\t(hashbelt_\w+);', ''.join(nodes[:-1]), re.MULTILINE)
    names = [name for name, function in functions().items() if not function[3] and name not in earlier]
    return ''.join(f'\t{name};\n' for name in sorted(names))


def index():
    """The list of functions in libhashbelt.3."""
    groups = {}
    for name, function in functions().items():
        groups.setdefault(function[2], []).append(name)
    return ''.join(f'.It {group}\n' + ' ,\n'.join(f'.Xr {name} 3' for name in names) + '\n'
                   for group, names in groups.items() if group)


def settings():
    """The name, the argument and the help of each setting."""
    text = read(SETTINGS).replace('YES_NO', '"[yes|no]"')
    return re.findall(r'^SETTING\("([\w-]+)",\s*"([^"]*)",\s*"([^"]*)"', text, re.MULTILINE)


def options():
    """The paragraphs in hbctl.1 of those settings that have none of their own there."""
    text = re.sub(r'(?s)\.\\" Other settings, .*?\.\\" End of what', '', read(COMMAND))
    return ''.join(f'.It Fl -{name}\n{help_[0].upper()}{help_[1:]}.\n' for name, _, help_ in settings()
                   if not re.search(rf'^\.(It )?Fl .*-{name}\b(?!-)', text, re.MULTILINE))


# Comparing, and adding what is missing


def changed():
    """The recorded rows that hashbelt.h or client.h has in another way, or not any more."""
    recorded, present = rows(read(LAYOUT)), rows(layout())
    for row, value in recorded.items():
        name = re.findall(r'\w+', row)[-1] if '(1)' not in row else re.findall(r'\w+', row)[1]
        place = line_of(HEADER, rf'\b(HASHBELT_|HASHBELT_IOC_|struct hashbelt_)?{name}\b')
        at = line_of(LAYOUT, r'\b' + re.escape(row[:-1]) + ',')
        if row not in present:
            yield f'{place}: {row} is gone, which {at} records: nothing of the interface may go'
        elif present[row] != value and not GROWS.fullmatch(row) and '?' not in present[row]:
            yield f'{place}: {row} is {present[row]}, and {value} in {at}: it must not change'

    present = set(library())
    for number, line in enumerate(read(RECORD).splitlines(), 1):
        if line not in present and not line.startswith('#'):
            name = re.search(r'hashbelt_\w+(?=\(|:)|HASHBELT_\w+', line)[0]
            yield (f'{line_of(CLIENT, name)}: {line} has changed or is gone, which {RECORD}:{number} records: undo that, or '
                   'change the soname, as docs/abi.md says, and the record')


def inconsistent():
    """Rows that one list has and another one lacks."""
    listed, needs = [call.name for call in calls()], rights()
    for name in listed:
        if name not in needs:
            yield f'{line_of(HEADER, f"HASHBELT_IOC_{name}")}: HASHBELT_IOC_{name} has no row in {CALLS}'
    for name in needs:
        if name not in listed:
            yield f'{line_of(CALLS, f"CALL.{name}")}: {name} has no HASHBELT_IOC_{name} in {HEADER}'
    declared = functions()
    for name, function in declared.items():
        if not function[2]:
            yield f'{line_of(CLIENT, name)}: {name} is in no group: put it below a comment "Group: NAME."'
        if not os.path.exists(f'docs/man3/{name}.3'):
            yield f'{line_of(CLIENT, name)}: {name} has no page: tests/generate.sh --write makes one'
    text = plain(CLIENT)
    for name in re.findall(r'X\(HASHBELT_CALL_\w+, "(\w+)"', text):
        if f'hashbelt_{name}' not in declared and f'hashbelt_{name}_begin' not in declared:
            yield f'{line_of(CLIENT, f"{chr(34)}{name}{chr(34)}")}: no function hashbelt_{name} is declared'
    text = read(DEVICE)
    for word in [f'HASHBELT_IOC_{name}' for name in listed] + [f'HASHBELT_{name}' for name in values()]:
        word = word.removesuffix('(1)')
        if not re.search(rf'\b{word}\b', text):
            yield f'{line_of(HEADER, rf"{word}{chr(92)}b")}: {DEVICE} does not name {word}'


def length_of(member, members):
    """The member that has the length of what another one points to, or None."""
    names = {other.name: other for other in members}
    for name in (member.name + '_len', 'size', 'count'):
        if name in names and ('pointer' in member.text or member.name + '_len' in names):
            return names[name]
    return None


def pointer_of(member, members):
    """The member that points to something of this length, or None."""
    return next((other for other in members if other.kind == '__u64' and length_of(other, members) is member), None)


# By the name of a member: its kind in fuzz/call.c.
BY_NAME = {'ttl_ms': 'LIFE', 'lease_ms': 'LIFE', 'wait_ms': 'WAIT', 'token': 'TOKEN', 'version': 'VERSION',
           'cursor': 'CURSOR', 'sequence': 'SEQUENCE', 'id': 'ID'}
POINTERS = {'key': 'KEY', 'owner': 'OWNER'}


def bits_of(member):
    """The constants that a member is made of, as its description says."""
    if member.name not in ('how', 'flags') or not member.text:
        return []
    names = re.findall(r'\bHASHBELT_([A-Z0-9_]+)\b(?!\*)', member.text)
    return [f'HASHBELT_{name}' for name in names if name in values()]


def fuzz_member(structure, member, members):
    """A row of fields in fuzz/call.c."""
    kind = 'ANY'
    if member.name.startswith('reserved') or member.text.startswith('pass 0'):
        kind = 'ZERO'
    elif member.name == 'name' and member.count:
        return f'BELT_NAME({structure}, false)'
    elif pointer_of(member, members):
        kind = 'LENGTH'
    elif length_of(member, members):
        kind = POINTERS.get(member.name, 'BUFFER')
        return f'POINTER({structure}, {member.name}, {kind}, {length_of(member, members).name})'
    elif member.name in BY_NAME:
        kind = BY_NAME[member.name]
    elif bits_of(member):
        return f'FIELD({structure}, {member.name}, BITS, {" | ".join(bits_of(member))})'
    return f'FIELD({structure}, {member.name}, {kind}, 0)'


class Description:
    """A description for fuzzing, or a record, to which what is missing is added. said has what that was."""

    def __init__(self, path):
        self.path, self.text, self.said = path, read(path), []

    def insert(self, what, at, new):
        """Insert a text."""
        line = self.text.count('\n', 0, at) + 1
        self.said.append(f'{self.path}:{line}: {what} is missing: tests/generate.sh --write adds it')
        self.text = self.text[:at] + new + self.text[at:]

    def add(self, what, where, new):
        """Insert a text before the first match of the pattern, or at the end for None."""
        self.insert(what, re.search(where, self.text, re.MULTILINE).start() if where else len(self.text), new)


def describe_library():
    """The record of the library's interface, with what was missing."""
    file = Description(RECORD)
    for line in library():
        if f'\n{line}\n' not in file.text:
            file.add(line, None, f'{line}\n')
    return file


def describe_fuzz():
    """The calls of the fuzzer, with what was missing."""
    file = Description(FUZZ)
    known = structures()
    for call in calls():
        if re.search(rf'^\t(ON|ALONE)\({call.name},|HASHBELT_IOC_{call.name},', file.text, re.MULTILINE):
            continue
        end = r'^\tALONE\(ABI, 1\),'
        if not call.argument:
            file.add(f'HASHBELT_IOC_{call.name}', end, f'\tALONE({call.name}, 2),\n')
            continue
        fields = call.name.lower() + '_fields'
        structure = call.argument.removeprefix('struct ')
        if structure == call.argument:
            lines = f'\t{{ "value", 0, {8 if "64" in structure else 4}, ANY, 0, 0 }},\n'
        else:
            members = known[structure.removeprefix('hashbelt_')]
            lines = ''.join(f'\t{fuzz_member(structure, member, members)},\n' for member in members)
        file.add(f'HASHBELT_IOC_{call.name}', end, f'\tON({call.name}, 2, {call.argument}, {fields}),\n')
        file.text = re.sub(r'(?=^static const struct field no_fields)',
                           f'static const struct field {fields}[] = {{\n{lines}\t{{}}\n}};\n\n', file.text, count=1,
                           flags=re.MULTILINE)
    for member in known['settings']:
        if f'(hashbelt_settings, {member.name}, ' not in file.text and member.name != 'name':
            row = fuzz_member('hashbelt_settings', member, known['settings'])
            file.add(f'{member.name} of struct hashbelt_settings', r'^\tFIELD\(hashbelt_settings, reserved',
                     f'\t{row}, \\\n')
    return file


def typeset(text):
    """Sentences for mdoc, one a line."""
    text = re.sub(r'\s+', ' ', text.replace('\\', '\\e')).strip()
    text = re.sub(r'@(\w+)', r'\1', text)
    lines = re.sub(r'([.:;]) (?=[A-Z])', r'\1\n', text).splitlines()
    return ''.join(('\\&' if line[0] in '.\'' else '') + line + '\n' for line in lines)


def page(name, function, comment):
    """A manual page of a function."""
    summary, text, members = comment
    described, _, returns = text.partition('Return:')
    result, arguments, _, _ = function
    month = subprocess.run(['date', '+%B %-d, %Y'], check=True, capture_output=True, text=True,
                           env={**os.environ, 'LC_ALL': 'C'}).stdout.strip()
    fields = '' if arguments == 'void' else ''.join(
        f'.Fa "{argument.strip()}"\n' for argument in arguments.split(','))
    items = ''.join(f'.It Fa {member}\n{typeset(text[0].upper() + text[1:] + ".")}'
                    for member, text in members.items() if text)
    paragraphs = '.Pp\n'.join(typeset(part) for part in re.split(r'\n\s*\n', described) if part.strip())
    return (f'.\\" SPDX-License-Identifier: GPL-2.0-only\n{MARK}\n.Dd {month}\n.Dt {name.upper()} 3\n.Os Linux\n'
            f'.Sh NAME\n.Nm {name}\n.Nd {summary}\n.Sh LIBRARY\nlibhashbelt (\\-lhashbelt)\n'
            f'.Sh SYNOPSIS\n.In hashbelt/client.h\n.Ft "{result}"\n.Fo {name}\n{fields}.Fc\n'
            f'.Sh DESCRIPTION\n{paragraphs or "This function calls the device: " + summary + "." + chr(10)}'
            + (f'.Bl -tag -width Ds\n{items}.El\n' if items else '')
            + f'.Sh RETURN VALUES\n{typeset(returns) if returns.strip() else "Nothing." + chr(10)}'
            'A negative number is an error; those of every call are listed in\n.Xr libhashbelt 3 .\n'
            '.Sh THREAD SAFETY\nSeveral threads may call this function with the same handle at the same time.\n'
            '.Sh SEE ALSO\n.Xr libhashbelt 3 ,\n.Xr hashbelt 4\n')


def pages():
    """The pages that are to be made or written anew: (path, text)."""
    described = {}
    for path in sorted(glob.glob('tools/lib/*.c')):
        described.update(comments(path, r'(hashbelt_\w+)\(\) - (.*)'))
    described.update(comments(CLIENT, r'(hashbelt_\w+)\(\) - (.*)'))
    known = functions()
    for path in sorted(glob.glob('docs/man3/hashbelt_*.3')):
        for name in re.findall(r'^\.Nm (hashbelt_\w+)', read(path).partition('.Sh LIBRARY')[0], re.MULTILINE):
            alias = f'docs/man3/{name}.3'
            if not os.path.exists(alias) and name in known:
                yield alias, f'.\\" SPDX-License-Identifier: GPL-2.0-only\n.so man3/{os.path.basename(path)}\n'
                known.pop(name)
    for name, function in known.items():
        path = f'docs/man3/{name}.3'
        old = read(path) if os.path.exists(path) else ''
        if (not old or MARK in old) and name in described:
            new = page(name, function, described[name])
            date = re.search(r'^\.Dd .*$', old, re.MULTILINE)
            if not date or re.sub(r'(?m)^\.Dd .*$', date[0], new) != old:
                yield path, new


def check():
    """Print what is wrong. Returns whether something is."""
    wrong = list(changed()) + list(inconsistent()) + describe_library().said + describe_fuzz().said
    wrong += [f'{path}:1: differs from the comment of the function: tests/generate.sh --write writes it anew'
              for path, _ in pages() if os.path.exists(path)]
    for line in wrong:
        print(line)
    return bool(wrong)


def write():
    """Add what is missing. Returns whether something has to be mended by hand before."""
    wrong = list(changed())
    for line in wrong:
        print(line)
    if wrong:
        return True
    for path, text in [(file.path, file.text) for file in (describe_library(), describe_fuzz())] + list(pages()):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
    return False


def main():
    """Print a part, or check or write."""
    parts = {'layout': layout, 'symbols': symbols, 'index': index, 'options': options}
    whole = {'check': check, 'write': write}
    word = sys.argv[1] if len(sys.argv) > 1 else ''
    if word in parts:
        print(parts[word](), end='')
        return 0
    return whole[word]()


if __name__ == '__main__':
    sys.exit(main())
