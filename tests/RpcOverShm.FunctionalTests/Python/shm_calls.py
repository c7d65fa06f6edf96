"""Calls the tests' service with shm_client: one command per line of standard input, one line of answer to each.

An answer is "ok" and the facts that the test compares, or "error" and the reason. The process ends with its standard
input, and the kernel kills it with the thread that started it. Messages are Protobuf, written and read by hand: all
fields here are varints or bytes.
"""
from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
import time
from typing import Callable, Iterator, Union

import shm_client
from shm_client import Call, Connection, Limits
from shm_files import FileConnection

SERVICE = "/rpcovershm.testing.Conformance/"
MASK = (1 << 64) - 1
PR_SET_PDEATHSIG = 1
Value = Union[int, bytes]


# ---- Protobuf

def varint(value: int) -> bytes:
    value &= MASK
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes(encoded + bytes([value]))


def message(*fields: tuple[int, Value]) -> bytes:
    return b"".join(
        varint(number << 3) + varint(value) if isinstance(value, int)
        else varint(number << 3 | 2) + varint(len(value)) + value
        for number, value in fields)


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        length = number()
        if key & 7 == 0:
            yield key >> 3, length
        else:
            yield key >> 3, data[at:at + length]
            at += length


def field(data: bytes, number: int, default: Value) -> Value:
    return dict(fields(data)).get(number, default)


def payload(data: bytes) -> bytes:
    return message((1, data)) if data else b""


def pattern(length: int, seed: int, start: int = 0) -> bytes:
    """The bytes from start on of the sequence that BytePattern.cs makes of the seed; start is a multiple of 8."""
    words = []
    for index in range(start // 8, (start + length + 7) // 8):
        mixed = (index + seed + 1) * 0x9E37_79B9_7F4A_7C15 & MASK
        words.append(mixed ^ mixed >> 29)
    return struct.pack(f"<{len(words)}Q", *words)[:length]


# ---- Commands

class Commands:
    """The commands, by their names. Words that follow the name are arguments."""

    def __init__(self) -> None:
        self._connections: list[Connection] = []
        self._held: list[Call] = []

    def connect(self, path: str, *options: str) -> str:
        """Options: lowest=, highest=, seals=, holes=, cut=, purpose=, ring=, window=, sleep=, features=, refuse=."""
        given = {name: int(value, 0) for name, value in (option.split("=") for option in options)}
        limits = Limits()._replace(
            ring_capacity=given.get("ring", Limits().ring_capacity),
            call_window=given.get("window", Limits().call_window))
        features = given.get("features", 0)
        self._connections.append((FileConnection if features else Connection)(
            path, limits=limits, versions=(given.get("lowest", 1), given.get("highest", 1)),
            seals=given.get("seals", shm_client.ALL_SEALS), has_holes=bool(given.get("holes", 0)),
            missing=given.get("cut", 0), purpose=given.get("purpose", 1), is_sleeping=bool(given.get("sleep", 0)),
            **({"features": features, "refuses_files": bool(given.get("refuse", 0))} if features else {})))
        return f"{len(self._connections)}"

    @staticmethod
    def resolve(address: str, *variables: str) -> str:
        """Returns the path of an address's socket, with these variables (NAME=value) only."""
        for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
            os.environ.pop(name, None)
        os.environ.update(variable.split("=", 1) for variable in variables)
        return shm_client.socket_path(address)

    def close(self) -> str:
        """Closes the connection that was opened last."""
        self._connections.pop().close()
        return f"{len(self._connections)}"

    def reset(self) -> str:
        """Closes all connections: the next test begins."""
        self._held.clear()
        while self._connections:
            self.close()
        return "done"

    def unary(self, size: str) -> str:
        data = pattern(int(size), 5)
        call = self._start("Echo", payload(data))
        answer = call.next()
        status = call.end()
        is_same = answer is not None and field(answer, 1, b"") == data
        return f"{status.code} {is_same} {call.next()} frames={call.frames}"

    def sum(self, count: str) -> str:
        call = self._start("Sum")
        for value in range(1, int(count) + 1):
            call.send(message((1, value)))
        call.half_close()
        answer = call.next()
        return f"{call.end().code} {field(answer or b'', 1, 0)}"

    def count(self, count: str) -> str:
        call = self._start("Count", message((1, int(count))))
        values = [field(answer, 1, 0) for answer in iter(call.next, None)]
        return f"{call.end().code} {values == list(range(int(count)))} {len(values)}"

    def duplex(self, count: str, size: str) -> str:
        """Sends each message after the answer to the one before."""
        call = self._start("EchoAll")
        right = 0
        for index in range(int(count)):
            data = pattern(int(size), index)
            call.send(payload(data))
            right += field(call.next() or b"", 1, b"") == data
        call.half_close()
        return f"{call.next()} {call.end().code} {right}"

    def pump(self, count: str, size: str) -> str:
        return self._take_pumped(self._pump(count, size), int(count), int(size))

    def drain(self, count: str, size: str) -> str:
        call = self._start("Drain")
        for index in range(int(count)):
            call.send(payload(pattern(int(size), 0, index * int(size))), is_last=index == int(count) - 1)
        answer = dict(fields(call.next() or b""))
        return f"{call.end().code} messages={answer.get(1, 0)} bytes={answer.get(2, 0)} wrong={answer.get(3, 0)}"

    def metadata(self, count: str, size: str) -> str:
        """Sends text and binary entries; reports what came back as headers, as trailers and in the message."""
        entries = [(f"key-{index}", b"x" * int(size)) for index in range(int(count))]
        entries += [("key-0", b"twice"), ("raw-bin", bytes(range(256)))]
        call = self._start("EchoMetadata", b"", metadata=entries)
        answer = call.next() or b""
        echoed = [(field(entry, 1, b"").decode(), field(entry, 3, b"") or field(entry, 2, b""))
                  for _, entry in fields(answer)]
        status = call.end()
        return f"{status.code} {call.headers == entries} {status.trailers == entries} {echoed == entries}"

    def fail(self, code: str, *detail: str) -> str:
        entry = message((1, b"why-bin"), (3, b"\x00\xff"))
        request = message((1, int(code)), (2, " ".join(detail).encode()), (3, entry))
        status = self._start("Fail", request).end()
        return f"{status.code} [{status.detail}] {status.trailers} {status.is_not_processed}"

    def call(self, method: str) -> str:
        """Calls any method with an empty message."""
        status = self._connections[-1].start(method, b"").end()
        return f"{status.code} [{status.detail}]"

    def one_way(self, count: str, size: str) -> str:
        """Makes one-way calls of the script, and waits for their Ends. Reports whether they needed room again."""
        connection = self._connections[-1]
        used = 0
        for _ in range(int(count)):
            before = connection.one_way_cost
            connection.send_one_way("/rpcovershm.testing.Script/Unary", payload(pattern(int(size), 5)))
            used += connection.one_way_cost - before if connection.one_way_cost > before else 0
        connection.wait(lambda: connection.one_way_cost == 0)
        return f"{used > connection.peer_limits.call_window}"

    def deadline(self, milliseconds: str) -> str:
        status = self._start("Delay", message((1, 60_000)), timeout=int(milliseconds) / 1000).end()
        return f"{status.code} [{status.detail}]"

    def begin(self, method: str) -> str:
        """Starts a call of the script without a request, which the later commands use, and waits for its headers."""
        call = self._connections[-1].start(f"/rpcovershm.testing.Script/{method}")
        self._held.append(call)
        return f"{call.id}"

    def subscribe(self) -> str:
        """Starts a duplex call of the script, and waits until its answer has begun."""
        call_id = self.begin("Duplex")
        self._connections[-1].wait(lambda: self._held[-1].has_answer)
        return call_id

    def read_numbers(self) -> str:
        """Reads a stream of numbered messages to its end. Reports the last one, and those that are missing."""
        call = self._held.pop()
        read, last = 0, -1
        for answer in iter(call.next, None):
            number = int(field(answer, 1, b""))
            if number <= last:
                raise ValueError(f"{number} after {last}")
            last, read = number, read + 1
        status = call.end()
        told = dict(status.trailers).get("rpcovershm-topic-skipped", b"0").decode()
        return f"{status.code} last={last} missing={last + 1 - read} told={told}"

    def files(self) -> str:
        """Reports the files of the server that are mapped, and the topics that it has dropped."""
        connection = self._connections[-1]
        return f"{len(connection.files)} {connection.dropped_topics}"

    def lend(self, method: str, size: str, count: str) -> str:
        """Lends messages, and reads the answers. Reports how many are right, and whether some were lent."""
        connection = self._connections[-1]
        right = lent = 0
        for index in range(int(count)):
            data = pattern(int(size), index)
            call = connection.start(method)
            call.lend(data)
            right += call.next() == data
            lent += call.lent
            if call.end().code:
                return f"{call.end()}"
        connection.flush()
        connection.wait_for_returns()
        return f"{right} {lent > 0}"

    def send(self, text: str) -> str:
        self._held[-1].send(payload(text.encode()))
        return ""

    def next(self) -> str:
        return field(self._held[-1].next() or b"", 1, b"").decode()

    def cancel(self) -> str:
        self._held[-1].cancel()
        return ""

    def half_close(self) -> str:
        self._held[-1].half_close()
        return ""

    def end(self) -> str:
        status = self._held.pop().end()
        return f"{status.code} [{status.detail}] {status.is_not_processed}"

    def wake_reader(self) -> str:
        """Makes a call when the server's event loop sleeps on its socket; reports whether it was rung."""
        connection = self._connections[-1]
        self._await(connection.peer_waits_for_data)
        before = connection.outgoing.waker.rings
        answer = self.unary("100")
        return f"{answer} {connection.outgoing.waker.rings > before}"

    def wake_writer(self, count: str, size: str) -> str:
        """Lets the server fill its ring, and reads when it sleeps until there is space. Reports
        whether its event loop was woken."""
        connection = self._connections[-1]
        call = self._pump(count, size)
        self._await(connection.peer_waits_for_space)
        before = connection.incoming.waker.rings
        answer = self._take_pumped(call, int(count), int(size))
        return f"{answer} {connection.incoming.waker.rings > before}"

    def slept(self) -> str:
        """Reports whether this side has slept on its socket, and whether the server's doorbell ended such a sleep."""
        connection = self._connections[-1]
        return f"{connection.sleeps > 0} {connection.doorbells > 0}"

    def rings(self) -> str:
        """Reports how often the peer has moved, and whether this side has."""
        connection = self._connections[-1]
        return f"{connection.incoming.moves} {connection.outgoing.has_moved}"

    def go_away(self) -> str:
        connection = self._connections[-1]
        connection.wait(lambda: connection.is_going_away)
        return ""

    def violate(self) -> str:
        """Sends a frame for a call that was never started, and waits for what the server says to that."""
        connection = self._connections[-1]
        connection.write(shm_client.HALF_CLOSE, 7 << 17 | 3 << 1)
        connection.wait(lambda: False)
        return ""

    def gone(self) -> str:
        """Waits for the end of the socket."""
        self._connections[-1].wait(lambda: False)
        return ""

    def _start(self, method: str, request: bytes | None = None, **options: object) -> Call:
        return self._connections[-1].start(SERVICE + method, request, **options)

    @staticmethod
    def _await(condition: Callable[[], bool]) -> None:
        """Waits for something that needs no turn of this side."""
        end = time.monotonic() + Connection.SECONDS
        while not condition() and time.monotonic() < end:
            time.sleep(0.001)

    def _pump(self, count: str, size: str) -> Call:
        return self._start("Pump", message((1, int(count)), (2, int(size)), (3, 9)))

    @staticmethod
    def _take_pumped(call: Call, count: int, size: int) -> str:
        answers = [field(answer, 1, b"") for answer in iter(call.next, None)]
        is_right = b"".join(answers) == pattern(count * size, 9)
        return f"{call.end().code} {len(answers)} {is_right}"


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    commands = Commands()
    for line in sys.stdin:
        name, *words = line.split()
        run: Callable[..., str] = getattr(commands, name.replace("-", "_"))
        try:
            answer = "ok " + run(*words)
        except Exception as failure:  # The test is told, whatever it was.
            answer = f"error {type(failure).__name__} {failure}".replace("\n", " ")
        print(answer.rstrip(), flush=True)


main()
