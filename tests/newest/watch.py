# SPDX-License-Identifier: GPL-2.0-only
"""Used by clients.t: notes which scripts the clients of a server of Redis' protocol send."""
import hashlib
import socket
import threading


class Watch:
    """Stands between clients, which connect to PATH.watched, and the server at PATH. SEEN has the digests of all scripts
    that came by, as texts or as digests."""

    def __init__(self, path):
        self.server = path
        self.path = f'{path}.watched'
        self.seen = set()
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client = self.listening.accept()[0]
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server)
            threading.Thread(target=self._watch, args=(client, server), daemon=True).start()
            threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()

    def _watch(self, client, server):
        """Pass on what a client sends, and look at each command."""
        held = bytearray()

        def note(data):
            held.extend(data)
            while words := _take(held):
                self._look(words)
        _pass_on(client, server, note)

    def _look(self, words):
        command = [word.upper() for word in words[:2]]
        if command[0] == b'EVALSHA':
            self.seen.add(words[1].decode().lower())
        elif command[0] == b'EVAL':
            self.seen.add(hashlib.sha1(words[1]).hexdigest())
        elif command == [b'SCRIPT', b'LOAD']:
            self.seen.add(hashlib.sha1(words[2]).hexdigest())


def _pass_on(source, target, note=None):
    """Pass on bytes until an end is closed, then close the other one."""
    try:
        while data := source.recv(1 << 16):
            if note:
                note(data)
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def _take(held):
    """Take the first command out of the bytes HELD. Returns its words; nothing if it is not complete."""
    words = []
    count, at = _number(held, 0)
    for _ in range(count):
        length, at = _number(held, at)
        if not at or len(held) < at + length + 2:
            return None
        words.append(bytes(held[at:at + length]))
        at += length + 2
    if words:
        del held[:at]
    return words


def _number(held, at):
    """The number of a line such as *3 or $5, and where the next line begins: 0 if the line is not complete."""
    end = held.find(b'\r\n', at)
    return (0, 0) if end < 0 else (int(held[at + 1:end]), end + 2)
