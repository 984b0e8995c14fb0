#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""dialogue.py [OPTION]... SOCKET FILE... - hold the dialogues of the files with a server of memcached's protocol, or
of that of Redis, and compare its replies to the byte. SOCKET is the path of its unix socket. Prints TAP, a line for
each dialogue.

    --server NAME   the server is hbserve (the default), memcached-SUITE or redis-SUITE of a suite of Debian, valkey,
                    or hbserve-redis, with the protocol of Redis
    --splits N      send a dialogue in two parts at most N times, split at N places (2000)
    --auth TEXT     a user and a password, which the dialogues send themselves
    --only NAME     only the dialogues whose name begins with NAME

dialogue.py --requests DIRECTORY FILE... - write the requests of each dialogue to a file, for a fuzzer. Numbers that
replies would have set are 0.

Each dialogue is held several times, each time on a connection of its own and without values: request by request; in
one pipeline; split at each byte into two writes, of which the server has read the first before the second is sent;
and byte by byte. At its end comes "mn" or "PING", so a reply too many is a failure like a reply too few.

A line of a file is one of these:

    = NAME          the beginning of a dialogue; "h= NAME" is one for hbserve alone
    * TEXT | TEXT   there is a dialogue for each of these texts, which stands for $@ in it
    > TEXT          the client sends TEXT and CR LF
    >> TEXT         the client sends TEXT
    < TEXT          the server sends TEXT and CR LF
    <: TEXT         the server sends TEXT
    <~ TEXT         the server sends any number of lines that begin with TEXT
    > TEXT => TEXT  the same as "> TEXT" and, behind it, "< TEXT"; more replies may follow
    !closed         the server closes the connection
    ...             the client waits for all replies, in each way
    # TEXT          a remark

Letters before one of these signs, such as "h<", "uh>" or "h=>", say for which servers the line or the reply is:

    h               hbserve
    m               memcached
    2 3 u           memcached of Debian 12 (1.6.18), Debian 13 (1.6.38) or unstable (1.6.45)
    r               Redis, and Valkey
    7 8 x v         Redis of Debian 12 (7.0.15), unstable (8.0.6) or experimental (8.6.3), Valkey 9.1.2

Such letters have to follow, in their dialogue, a remark that gives the reason:

    # differs: TEXT

A dialogue for hbserve alone has this remark, or its file has it before the first dialogue.

A sign alone stands for an empty TEXT. In a TEXT, " / " is CR LF, \\r \\n \\t \\0 \\\\ \\xNN are bytes, and
\\{TEXT*N} is that text N times. $$ is a dollar. ${name} is a number that a reply has had before. In a reply,
${name=} is a number of this name, $# any number, $~N the number N or one that is up to 5 less, for what is left of N
seconds, and $* any text up to the end of the line.
"""

import argparse
import fcntl
import os
import re
import select
import socket
import struct
import sys
import termios
import time
from typing import NamedTuple, NoReturn, Optional

MOST_BYTES = 4 << 20    # sent for all places at which a dialogue is split
PATIENCE_S = 30         # a server that is silent for so long has failed
LETTERS = {
    'hbserve': 'h', 'hbserve-redis': 'h', 'redis-bookworm': 'r7', 'redis-sid': 'r8', 'redis-experimental': 'rx',
    'valkey': 'rv', 'memcached-bookworm': 'm2', 'memcached-trixie': 'm3', 'memcached-sid': 'mu',
}
SIGN = re.compile(rb'([hm23ur78xv]*)(>>|<~|<:|[<>]|!closed|\.\.\.)(?: (.*))?', re.DOTALL)
REPLY = re.compile(rb' ([hm23ur78xv]*)=> ')
TOKEN = re.compile(rb'\\(?P<named>[rnt0\\])|\\x(?P<hex>[0-9a-fA-F]{2})|\\\{(?P<part>[^*]*)\*(?P<times>[0-9]+)\}|'
                   rb'\$(?P<dollar>\$)|\$(?P<NUMBER>#)|\$(?P<REST>\*)|\$~(?P<AT_MOST>[0-9]+)|'
                   rb'\$\{(?P<CAPTURE>[^}]*)=\}|\$\{(?P<VARIABLE>[^}]*)\}|(?P<plain>[^\\$]+)', re.DOTALL)
NAMED = {b'r': b'\r', b'n': b'\n', b't': b'\t', b'0': b'\0', b'\\': b'\\'}
DIGITS = re.compile(b'[0-9]*')


class Wrong(Exception):
    """The server has not done what the dialogue says."""


class Line(NamedTuple):
    """A line of a dialogue."""

    sign: str
    number: int
    tokens: list[tuple[str, bytes]]     # kind, and text, name, largest number or beginning


class Dialogue(NamedTuple):
    """Requests and their replies."""

    name: str
    lines: list[Line]


def bad_line(file: str, number: int, what: str) -> NoReturn:
    """End this program because a file is wrong."""
    print(f'Bail out! {file}:{number}: {what}')
    sys.exit(1)


def tokenize(text: bytes, end: bytes) -> Optional[list[tuple[str, bytes]]]:
    """The tokens of a text, and of its end; None if it is wrong."""
    tokens: list[tuple[str, bytes]] = []
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            return None
        at = match.end()
        kind, found = match.lastgroup, match[match.lastgroup]
        if kind.isupper():
            tokens.append((kind, found))
        elif kind == 'named':
            add_text(tokens, NAMED[found])
        elif kind == 'hex':
            add_text(tokens, bytes([int(found, 16)]))
        elif kind == 'times':
            add_text(tokens, match['part'] * int(found))
        else:
            add_text(tokens, found)
    add_text(tokens, end)
    return tokens


def add_text(tokens: list[tuple[str, bytes]], text: bytes) -> None:
    """Add a text to tokens, to the last one if that is a text."""
    if text and tokens and tokens[-1][0] == 'TEXT':
        tokens[-1] = ('TEXT', tokens[-1][1] + text)
    elif text:
        tokens.append(('TEXT', text))


def read_dialogue(file: str, name: bytes, lines: list[tuple[int, bytes]], row: Optional[bytes]) -> Dialogue:
    """The dialogue of these lines for the server. The row stands for $@."""
    dialogue = Dialogue((name if row is None else name + b': ' + row).decode(errors='backslashreplace'), [])
    has_reason = False
    for number, text in lines:
        if text.startswith(b'#'):
            has_reason = has_reason or text.startswith(b'# differs: ')
            continue
        match = SIGN.fullmatch(text if row is None else text.replace(b'$@', row))
        if not match:
            bad_line(file, number, 'no such sign')
        whom, sign, rest = match[1].decode(), match[2].decode(), (match[3] or b'').replace(b' / ', b'\r\n')
        rest, *replies = REPLY.split(rest) if sign == '>' else [rest]
        parts = [(whom, sign, rest)]
        parts += [(letters_of.decode() or whom, '<', reply) for letters_of, reply in zip(replies[::2], replies[1::2])]
        for whom, sign, rest in parts:
            if whom and not has_reason:
                bad_line(file, number, 'no reason (# differs: ...) why the servers differ')
            if whom and not set(whom) & set(letters):
                continue
            tokens = tokenize(rest, b'\r\n' if sign in '<>' else b'')
            if tokens is None:
                bad_line(file, number, 'a wrong escape')
            if sign == '<~':
                tokens = [('LINES', tokens[0][1])]
            dialogue.lines.append(Line({'>>': '>', '<:': '<', '<~': '<'}.get(sign, sign), number, tokens))
    return dialogue


def read_file(file: str) -> list[Dialogue]:
    """The dialogues of a file."""
    with open(file, 'rb') as stream:
        head, *parts = re.split(rb'^(h?)= (.*)\n', stream.read(), flags=re.MULTILINE)
    dialogues: list[Dialogue] = []
    number = head.count(b'\n') + 1
    for ours, name, body in zip(parts[::3], parts[1::3], parts[2::3]):
        if ours and b'\n# differs: ' not in head + b'\n' + body:
            bad_line(file, number, 'no reason (# differs: ...) why the dialogue is for hbserve alone')
        lines = [(number + i, line) for i, line in enumerate(body.split(b'\n'), 1) if line]
        rows = [row for _, line in lines if line.startswith(b'* ') for row in line[2:].split(b' | ')]
        lines = [(at, line) for at, line in lines if not line.startswith(b'* ')]
        number += body.count(b'\n') + 1
        if not ours or 'h' in letters:
            dialogues.extend(read_dialogue(file, name, lines, row) for row in rows or [None])
    return dialogues


def connect() -> socket.socket:
    """A connection with the server."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(options.socket)
            return connection
        except ConnectionRefusedError as error:
            # A server that starts has bound its socket before it listens.
            if time.monotonic() > deadline:
                raise Wrong(f'cannot connect: {error}') from error
        except OSError as error:
            raise Wrong(f'cannot connect: {error}') from error
        connection.close()
        os.sched_yield()


class Talk:
    """A dialogue that is being held: by request, in a pipeline, split, or byte by byte."""

    def __init__(self, dialogue: Dialogue, mode: str, split: int = 0) -> None:
        self.lines, self.mode, self.split = dialogue.lines, mode, split
        self.socket = connect()
        self.sent = 0               # bytes
        self.out = b''              # requests that were not yet sent
        self.got = bytearray()      # bytes that the server has sent
        self.at = 0                 # of these, which were compared
        self.replied = 0            # lines whose replies were compared
        self.ended = False          # the server has closed the connection
        self.values: dict[bytes, bytes] = {}
        self.readable = select.poll()
        self.readable.register(self.socket, select.POLLIN)

    def receive(self) -> None:
        """Read what the server sends, and wait for it."""
        if not self.readable.poll(PATIENCE_S * 1000):
            raise Wrong('the server sends no more')
        try:
            found = self.socket.recv(65536)
        except OSError:
            found = b''
        self.ended = not found
        self.got += found

    def drain(self) -> None:
        """Wait until the server has read all that was sent."""
        deadline = time.monotonic() + PATIENCE_S
        while unread := struct.unpack('i', fcntl.ioctl(self.socket, termios.TIOCOUTQ, bytes(4)))[0]:
            if time.monotonic() > deadline:
                raise Wrong(f'the server does not read {unread} bytes')
            if not self.ended and self.readable.poll(0):
                self.receive()
            os.sched_yield()

    def put(self, data: bytes) -> None:
        """Send bytes. What a server that has closed the connection does not take is lost."""
        while data:
            try:
                done = self.socket.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                if self.ended:
                    return
                if not select.select([self.socket], [self.socket], [], PATIENCE_S)[1]:
                    self.receive()
                continue
            except OSError:
                return
            data = data[done:]
            self.sent += done

    def flush(self) -> None:
        """Send the requests in the way of the mode."""
        data, self.out = self.out, b''
        first = self.split - self.sent
        if self.mode == 'byte by byte':
            for i in range(len(data)):
                self.put(data[i:i + 1])
                self.drain()
        elif 0 < first < len(data):
            self.put(data[:first])
            self.drain()
            self.put(data[first:])
        else:
            self.put(data)

    def match(self, kind: str, text: bytes) -> Optional[int]:
        """Compare a token with what the server has sent. Return: the place behind it; -1: it differs; None: more bytes
        are needed.
        """
        if kind == 'LINES':
            at = self.at
            while self.got.startswith(text, at):
                at = self.got.find(b'\r\n', at) + 2
                if at == 1:
                    return None
            return None if text.startswith(self.got[at:at + len(text)]) else at
        if kind == 'REST':
            return None if (end := self.got.find(b'\r', self.at)) < 0 else end
        if kind in ('TEXT', 'VARIABLE'):
            text = self.values.get(text, b'?') if kind == 'VARIABLE' else text
            if self.got.startswith(text, self.at):
                return self.at + len(text)
            return None if text.startswith(self.got[self.at:]) else -1
        end = DIGITS.match(self.got, self.at).end()
        number = bytes(self.got[self.at:end])
        if end == len(self.got):
            return None
        if not 1 <= len(number) <= 20 or (kind == 'AT_MOST' and not 0 <= int(text) - int(number) <= 5):
            return -1
        if kind == 'CAPTURE':
            self.values[text] = number
        return end

    def differs(self, number: int, begin: int, what: str) -> NoReturn:
        """Fail with the bytes that were found in the place of those of a line."""
        found = ''.join({13: '\\r', 10: '\\n'}.get(byte) or (chr(byte) if 32 <= byte < 127 else f'\\x{byte:02x}')
                        for byte in self.got[begin:begin + 200])
        raise Wrong(f'line {number}: {what}, found: {found}{" (closed)" if self.ended else ""}')

    def expect(self, line: Line) -> None:
        """Wait for the reply, or the end, that a line describes."""
        begin = self.at
        if line.sign == '!closed':
            while not self.ended and len(self.got) == begin:
                self.receive()
            if len(self.got) != begin:
                self.differs(line.number, begin, 'expected that the server closes')
        for kind, text in line.tokens:
            while (at := self.match(kind, text)) is None:
                if self.ended:
                    self.differs(line.number, begin, 'expected more')
                self.receive()
            if at < 0:
                self.differs(line.number, begin, 'expected that line')
            self.at = at

    def expect_until(self, end: int) -> None:
        """Send the requests, and wait for the replies before a line."""
        self.flush()
        for line in self.lines[self.replied:end]:
            if line.sign in ('<', '!closed'):
                self.expect(line)
        self.replied = end

    def request(self, line: Line, i: int) -> None:
        """Add a request to those that are sent next. A number in it may need the replies before it."""
        if any(kind == 'VARIABLE' and text not in self.values for kind, text in line.tokens):
            self.expect_until(i)
        try:
            self.out += b''.join(self.values[text] if kind == 'VARIABLE' else text for kind, text in line.tokens)
        except KeyError as error:
            raise Wrong(f'line {line.number}: a variable is not set') from error

    def hold(self) -> int:
        """Send all requests, and wait for all replies. Return: the number of bytes that were sent."""
        last = self.lines[-1]
        for i, line in enumerate(self.lines):
            if line.sign == '...' or (line.sign == '>' and i and self.lines[i - 1].sign == '<' and
                                      self.mode == 'request by request'):
                self.expect_until(i)
            if line.sign == '>':
                self.request(line, i)
        if last.sign != '!closed':
            self.out += b'PING\r\n' if is_redis else b'mn\r\n'
        self.expect_until(len(self.lines))
        if last.sign != '!closed':
            self.expect(Line('<', last.number, [('TEXT', b'+PONG\r\n' if is_redis else b'MN\r\n')]))
        if self.at != len(self.got):
            self.differs(last.number, self.at, 'expected no more')
        return self.sent


control: Optional[socket.socket] = None


def forget() -> None:
    """Remove all values, by a connection of this program's own."""
    global control
    exchanges = [(b'FLUSHALL\r\n', b'+OK\r\n') if is_redis else (b'flush_all\r\n', b'OK\r\n')]
    auth = options.auth.encode()
    if auth and is_redis:
        exchanges.insert(0, (b'AUTH %s\r\n' % auth, b'+OK\r\n'))
    elif auth and not control:
        exchanges.insert(0, (b'set k 0 0 %d\r\n%s\r\n' % (len(auth), auth), b'STORED\r\n'))
    try:
        control = control or connect()
        for sent, right in exchanges:
            control.sendall(sent)
            if control.recv(len(right), socket.MSG_WAITALL) != right:
                raise Wrong(f'{sent!r} fails')
    except (OSError, Wrong) as error:
        print(f'# {error}\nBail out! the server is not there')
        sys.exit(1)


def hold(dialogue: Dialogue, mode: str, split: int = 0) -> int:
    """Hold a dialogue on a connection of its own. Return: the number of bytes that were sent."""
    forget()
    talk = Talk(dialogue, mode, split)
    try:
        return talk.hold()
    except Wrong as error:
        raise Wrong(f'{mode}{f", the first part of {split} bytes" if split else ""}: {error}') from error
    finally:
        talk.socket.close()


def hold_each_way(dialogue: Dialogue) -> None:
    """Hold a dialogue in each way."""
    length = hold(dialogue, 'request by request')
    hold(dialogue, 'all in one pipeline')
    places = min(length - 1, MOST_BYTES // length, options.splits)
    for i in range(places):
        hold(dialogue, 'sent in two parts', 1 + i * (length - 1) // places)
    if length <= options.splits:
        hold(dialogue, 'byte by byte')


def write_requests(dialogue: Dialogue, path: str) -> None:
    """Write the requests of a dialogue to a file. The fuzzer splits them at its first two bytes."""
    with open(path, 'wb') as file:
        file.write(bytes([40, 0]))
        for line in dialogue.lines:
            if line.sign == '>':
                file.write(b''.join(b'0' if kind == 'VARIABLE' else text for kind, text in line.tokens))


parser = argparse.ArgumentParser()
parser.add_argument('--server', choices=LETTERS, default='hbserve')
parser.add_argument('--splits', type=int, default=2000)
parser.add_argument('--auth', default='')
parser.add_argument('--only', default='')
parser.add_argument('--requests')
parser.add_argument('paths', nargs='+')
options = parser.parse_args()
options.socket = '' if options.requests else options.paths.pop(0)
letters = LETTERS[options.server]
is_redis = 'redis' in options.server or options.server == 'valkey'
checks = failures = 0
for path in options.paths:
    for each in read_file(path):
        if not each.name.startswith(options.only):
            continue
        checks += 1
        if options.requests:
            write_requests(each, f'{options.requests}/dialogue-{checks}')
            continue
        try:
            hold_each_way(each)
            print(f'ok {checks} - {each.name}', flush=True)
        except Wrong as wrong:
            failures += 1
            print(f'# {path}: {wrong}\nnot ok {checks} - {each.name}', flush=True)
if not options.requests:
    print(f'1..{checks}')
sys.exit(failures > 0)
