"""A second implementation of RpcOverShm's protocol: the connecting side, in Python's standard library only.

It follows proto/PROTOCOL.md, whose sections the comments name, and shares no code with the library, so it shows that
the page is complete. It is no product: it polls, unless it is asked to sleep on its socket.

Python has no fences, but taking a lock executes an instruction that is a full fence on x86-64. Everything else needs
acquire and release only, which are ordinary loads and stores there; the client refuses to run on other machines. Words
are read and written as items of a memoryview, which copies 8 bytes at once.

One thread may use a connection, and what it waits for has a time limit.
"""
from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import platform
import select
import socket
import stat
import struct
import threading
import time
from collections import deque
from typing import Callable, Iterator, NamedTuple, Optional, Sequence, Tuple

VERSION = 1
HEADER_SIZE = 4096
FIRST_RING = 64 << 10
RECORD = struct.Struct("<IBBHII")
HELLO = struct.Struct("<8sBBHHHII16sQIIII")
HELLO_START = struct.Struct("<8sBBHHHII")
MAGIC = b"RPCOSHM\n"
TYPE_CLIENT, TYPE_SERVER, TYPE_REFUSAL = 1, 2, 3
PURPOSE_CALLS = 1
REASON_VIOLATION = 7

# Indexes of the words of a segment (section 3).
TAIL, PARKED_FOR_SPACE, HEAD, PARKED_FOR_DATA = 128 // 8, 256 // 8, 384 // 8, 512 // 8

# The bits of a parked word (section 5), and the byte that is a doorbell.
BY_FUTEX, BY_DOORBELL, POSITION = 1, 2, ~15
DOORBELL = b"\x01"

CALL_START, HEAD_CHUNK, MESSAGE, MESSAGE_CHUNK, HALF_CLOSE, HEADERS, END, CREDIT, CANCEL, GO_AWAY = range(1, 11)
MOVED, PADDING = 254, 255
MAY_FILL_RING = (CREDIT, CANCEL, HALF_CLOSE, GO_AWAY)
HAS_MESSAGE, HALF_CLOSED, HEAD_CONTINUES, SINGLE, ONE_WAY = 1, 2, 4, 8, 16
ONE_WAY_COST = 1 << 10  # of a one-way call, besides its payload bytes (section 6)

# The kinds that a server may send, with their flags. Section 6 says which have a head, a payload and an argument.
# A feature (section 2) brings further kinds: shm_files.py has them.
SERVER_FLAGS = {HEAD_CHUNK: HEAD_CONTINUES, MESSAGE: HALF_CLOSED | SINGLE, MESSAGE_CHUNK: HALF_CLOSED,
                HEADERS: HEAD_CONTINUES, END: HAS_MESSAGE | HEAD_CONTINUES, CREDIT: 0, GO_AWAY: 0}
WITH_HEAD, WITHOUT_PAYLOAD, WITH_ARGUMENT = (HEAD_CHUNK, HEADERS, END), (CREDIT, GO_AWAY), (MESSAGE, CREDIT)

MAX_CREDIT = 1 << 30
OK, CANCELLED, UNKNOWN, RESOURCE_EXHAUSTED, UNAVAILABLE = 0, 1, 2, 8, 14

SEAL_FUTURE_WRITE = 0x10
SEALS_OF_PEERS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
ALL_SEALS = SEALS_OF_PEERS | SEAL_FUTURE_WRITE
SYS_FUTEX = {"x86_64": 202}
SYS_CACHESTAT = 451  # on all machines, since Linux 6.5
FUTEX_WAKE = 1
MOST_SLEEPERS = 4  # of one side on one word (section 5)
MADV_POPULATE_READ, MADV_POPULATE_WRITE = 22, 23

MAX_PATH = 107  # bytes of a socket's path (section 1)

Metadata = Sequence[Tuple[str, bytes]]


def runtime_directory() -> str:
    """Returns the directory of names that the environment chooses (section 1)."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    try:
        facts = os.stat(given + "/.") if given.startswith("/") else None
    except OSError:
        facts = None
    if facts is not None and facts.st_uid == os.geteuid() and (
            not facts.st_mode & stat.S_IWOTH or facts.st_mode & stat.S_ISVTX):
        return os.path.join(given, "rpcovershm")
    temporary = os.environ.get("TMPDIR", "")
    return os.path.join(temporary if os.path.isabs(temporary) else "/tmp", f"rpcovershm-{os.geteuid()}")


def socket_path(address: str) -> str:
    """Returns the socket of an address (section 1)."""
    name = address[len("shm://"):]
    if name.startswith("/"):
        return name
    path = os.path.join(runtime_directory(), name.replace("/", "+") + ".sock")
    if len(path.encode()) <= MAX_PATH:
        return path
    return os.path.join(runtime_directory(), f"~{hashlib.sha256(name.encode()).hexdigest()[:32]}.sock")


class Refused(Exception):
    """The peer refused the connection, or closed it because of a violation."""

    def __init__(self, reason: int, text: str):
        super().__init__(f"{reason} {text}")
        self.reason = reason


class Violation(Exception):
    """The peer did something that the page does not allow (section 9)."""


class PeerGone(Exception):
    """The peer's end of the socket is closed."""


class Limits(NamedTuple):
    """The figures of a hello."""
    ring_capacity: int = 256 << 10
    call_window: int = 256 << 10
    max_calls: int = 0
    max_metadata: int = 64 << 10
    max_running: int = 0


class Frame(NamedTuple):
    kind: int
    flags: int
    stream_id: int
    argument: int
    head: bytes
    body: bytes


class Status(NamedTuple):
    code: int
    detail: str
    trailers: Metadata
    is_not_processed: bool


# ---- Section 7: encodings

def write_metadata(entries: Metadata) -> bytes:
    parts = [struct.pack("<H", len(entries))]
    for key, value in entries:
        name = key.encode("ascii")
        parts.append(struct.pack("<H", len(name)) + name + struct.pack("<I", len(value)) + value)
    return b"".join(parts)


def write_request_head(method: str, timeout: Optional[float], metadata: Metadata) -> bytes:
    """timeout: in seconds, from now."""
    flags = (1 if timeout is not None else 0) | (2 if metadata else 0)
    name = method.encode()
    head = struct.pack("<BH", flags, len(name)) + name
    if timeout is not None:
        head += struct.pack("<q", int(timeout * 10_000_000))
    return head + (write_metadata(metadata) if metadata else b"")


class Reader:
    """Takes values from the beginning of bytes; bytes that are missing or left over are a violation."""

    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise Violation("a head is cut short")
        self._at += count
        return self._data[self._at - count:self._at]

    def number(self, form: str) -> int:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def metadata(self) -> Metadata:
        return [(self.take(self.number("H")).decode("ascii"), self.take(self.number("I")))
                for _ in range(self.number("H"))]

    def end(self) -> None:
        if self._at != len(self._data):
            raise Violation("a head has bytes after its end")


def read_metadata(block: bytes) -> Metadata:
    reader = Reader(block)
    entries = reader.metadata()
    reader.end()
    return entries


def read_status(trailer: bytes) -> Status:
    if not trailer:
        return Status(OK, "", [], False)
    reader = Reader(trailer)
    code, flags = reader.number("B"), reader.number("B")
    if flags > 7:
        raise Violation(f"a status trailer with flags {flags}")
    detail = reader.take(reader.number("I")).decode() if flags & 1 else ""
    trailers = reader.metadata() if flags & 2 else []
    reader.end()
    return Status(code if code <= 16 else UNKNOWN, detail, trailers, flags & 4 != 0)


# ---- Sections 3 to 5: segments, records, waking

def sizes(capacity: int) -> tuple[int, int]:
    """The size of a segment, and the part of it that has memory from the beginning."""
    first = HEADER_SIZE + min(capacity, FIRST_RING)
    return first + (capacity if capacity > FIRST_RING else 0), first


def has_pages(fd: int, length: int) -> bool:
    """Whether the first bytes of a file have all their pages, in memory or in swap."""
    found = (ctypes.c_uint64 * 5)()  # cached, dirty, under writeback, evicted, recently evicted
    if ctypes.CDLL(None, use_errno=True).syscall(
            ctypes.c_long(SYS_CACHESTAT), ctypes.c_long(fd), (ctypes.c_uint64 * 2)(0, length), found,
            ctypes.c_long(0)) != 0:
        if ctypes.get_errno() != errno.ENOSYS:
            return False
        return os.fstat(fd).st_blocks * 512 >= length
    return found[0] + found[3] >= -(-length // mmap.PAGESIZE)


class Segment:
    """One side's shared memory: four words, and the data of the ring that is in use."""

    def __init__(self, memory: mmap.mmap, capacity: int, fd: Optional[int] = None):
        """fd: to check the second ring of the peer's segment with; it is closed with the segment."""
        self.memory, self._full_capacity, self._fd = memory, capacity, fd
        self._view = memoryview(memory)
        self.words = self._view[:HEADER_SIZE].cast("Q")
        self.capacity = min(capacity, FIRST_RING)
        self.data = self._view[HEADER_SIZE:HEADER_SIZE + self.capacity]

    @property
    def has_second(self) -> bool:
        """Whether there is a larger ring to which the owner may move."""
        return self.capacity < self._full_capacity

    @property
    def most_ahead(self) -> int:
        """Bytes that the owner can have written beyond what the peer has read."""
        return self.capacity + (self._full_capacity if self.has_second else 0)

    def allocate_second(self) -> None:
        """Gives the own second ring memory. The peer can keep fallocate from returning, but not this."""
        first = sizes(self._full_capacity)[1]
        self.memory.madvise(MADV_POPULATE_WRITE, first, self._full_capacity)

    def check_second(self) -> None:
        """Checks that all of the peer's segment has memory, and maps it (section 2)."""
        assert self._fd is not None
        size = sizes(self._full_capacity)[0]
        if not has_pages(self._fd, size):
            raise Violation("a move to a ring with holes")
        self.memory.madvise(MADV_POPULATE_READ, 0, size)

    def use_second(self) -> None:
        first = sizes(self._full_capacity)[1]
        self.data.release()
        self.data = self._view[first:first + self._full_capacity]
        self.capacity = self._full_capacity
        self._close_fd()

    @staticmethod
    def create(capacity: int, connection_id: bytes, seals: int, has_holes: bool,
               missing: int) -> tuple[int, Segment]:
        """Returns the descriptor too, which the caller closes. The arguments after the id make wrong segments."""
        fd = os.memfd_create("rpcovershm-python", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        size, first = sizes(capacity)
        size -= missing
        os.ftruncate(fd, size)
        memory = mmap.mmap(fd, size)
        if not has_holes:
            memory.madvise(MADV_POPULATE_WRITE, 0, min(first, size))
        memory.madvise(mmap.MADV_DONTFORK)  # A forked child must not use its parent's connections.
        struct.pack_into("<8sI4xQ16s", memory, 0, MAGIC[:7] + b"\x01", VERSION, capacity, connection_id)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        return fd, Segment(memory, capacity)

    @staticmethod
    def open(fd: int, capacity: int) -> Segment:
        """Maps the peer's segment if it can neither shrink nor grow and has its size (section 2)."""
        if fcntl.fcntl(fd, fcntl.F_GET_SEALS) & SEALS_OF_PEERS != SEALS_OF_PEERS:
            raise Violation("the peer's segment lacks seals")
        size, first = sizes(capacity)
        if os.fstat(fd).st_size != size:
            raise Violation("the peer's segment has another size than announced")
        if not has_pages(fd, first):
            raise Violation("the peer's segment has holes")
        memory = mmap.mmap(fd, size, prot=mmap.PROT_READ)
        memory.madvise(MADV_POPULATE_READ, 0, first)
        memory.madvise(mmap.MADV_DONTFORK)
        return Segment(memory, capacity, os.dup(fd))

    def wake(self, word: int) -> None:
        """Wakes the threads that sleep on the low half of a word of this segment, which is the own one."""
        first = ctypes.c_char.from_buffer(self.memory)
        address = ctypes.c_void_p(ctypes.addressof(first) + 8 * word)
        del first  # It would keep the mapping from being closed.
        ctypes.CDLL(None).syscall(
            ctypes.c_long(SYS_FUTEX[platform.machine()]), address, ctypes.c_long(FUTEX_WAKE),
            ctypes.c_long(MOST_SLEEPERS), None, None, ctypes.c_long(0))

    def close(self) -> None:
        self.words.release()
        self.data.release()
        self._view.release()
        self.memory.close()
        self._close_fd()

    def _close_fd(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def aligned(count: int) -> int:
    return (count + 15) & ~15


def fence(lock: threading.Lock = threading.Lock()) -> None:
    """Orders the stores before this call before the loads after it: the lock's atomic instructions do so on x86-64."""
    with lock:
        pass


class Waker:
    """Wakes the peer's sleepers on one word of the own segment, or its event loop, once for each parked word."""

    def __init__(self, own: Segment, word: int, peer: Segment, parked_word: int, ring: Callable[[], None]):
        """ring: sends a doorbell."""
        self._own, self._word, self._peer, self._parked_word, self._ring = own, word, peer, parked_word, ring
        self._last = 0
        self.rings = 0

    def wake_below(self, position: int) -> None:
        """Wakes the peer if it is parked at a position below this one, which has just been stored (section 5)."""
        fence()
        parked = self._peer.words[self._parked_word]
        if parked & (BY_FUTEX | BY_DOORBELL) == 0 or parked & POSITION >= position or parked == self._last:
            return
        self._last = parked
        if parked & BY_FUTEX:
            self._own.wake(self._word)
        if parked & BY_DOORBELL:
            self.rings += 1
            self._ring()


class OutgoingRing:
    """Writes records into the own ring, and moves to the second ring when the first one is full."""

    def __init__(self, own: Segment, peer: Segment, ring: Callable[[], None]):
        self._own, self._peer = own, peer
        self._tail = self._head = self._start = 0
        self.waker = Waker(own, TAIL, peer, PARKED_FOR_DATA, ring)
        self.is_moving = self.is_full = False

    @property
    def max_payload(self) -> int:
        return self._own.capacity // 8 - 16

    def try_write(self, kind: int, stream_id: int, payload: bytes = b"", flags: int = 0, head_length: int = 0,
                  argument: int = 0) -> bool:
        """Writes and publishes a record. Returns False if there is no space yet."""
        if self.is_moving and self._has_room(16):
            self._put(b"", 0, MOVED)
            self._own.use_second()
            self._start, self.is_moving = self._tail, False
        capacity, needed = self._own.capacity, aligned(16 + len(payload))
        rest = capacity - self._tail % capacity
        padding = rest if rest < needed else 0
        reserve = 0 if kind in MAY_FILL_RING else capacity // 16
        self.is_full = not self._has_room(padding + needed + reserve)
        if self.is_full:
            self.grow()
            return False
        if padding:
            self._put(b"", padding - 16, PADDING)
        self._put(payload, len(payload), kind, flags, head_length, stream_id, argument)
        self._own.words[TAIL] = self._tail
        self.waker.wake_below(self._tail)
        return True

    @property
    def has_moved(self) -> bool:
        return self._start > 0

    def _has_room(self, size: int) -> bool:
        """What is unread in the first ring takes no space of the second."""
        return self._own.capacity - (self._tail - max(self._read_head(), self._start)) >= size

    def grow(self) -> None:
        """Lets one of the next records be the first in the second ring, if there is one."""
        if self._own.has_second and not self.is_moving:
            self._own.allocate_second()
            self.is_moving = True

    def park(self) -> bool:
        """Announces that this side sleeps on its socket until there is space. Returns False if the peer has read."""
        self._own.words[PARKED_FOR_SPACE] = self._head | BY_DOORBELL
        fence()
        seen = self._head
        return self._read_head() == seen

    def unpark(self) -> None:
        self._own.words[PARKED_FOR_SPACE] = 0

    def _read_head(self) -> int:
        head = self._peer.words[HEAD]
        if head < self._head or head % 16 or head > self._tail:
            raise Violation(f"the peer's head went from {self._head} to {head}")
        self._head = head
        return head

    def _put(self, payload: bytes, length: int, kind: int, flags: int = 0, head_length: int = 0, stream_id: int = 0,
             argument: int = 0) -> None:
        at = self._tail % self._own.capacity
        RECORD.pack_into(self._own.data, at, length, kind, flags, head_length, stream_id, argument)
        self._own.data[at + 16:at + 16 + len(payload)] = payload
        self._tail += aligned(16 + length)


class IncomingRing:
    """Reads records from the peer's ring."""

    def __init__(self, own: Segment, peer: Segment, ring: Callable[[], None]):
        self._own, self._peer = own, peer
        self._head = self._tail = self.moves = 0
        self.waker = Waker(own, HEAD, peer, PARKED_FOR_SPACE, ring)

    def read_all(self) -> Iterator[Frame]:
        """Reads the records that are there, and gives their space back when all are taken."""
        tail = self._peer.words[TAIL]
        if tail < self._tail or tail % 16 or tail - self._head > self._peer.most_ahead:
            raise Violation(f"the peer's tail went from {self._tail} to {tail}")
        self._tail = tail
        while self._head < tail:
            frame = self._read_one()
            if frame is not None:
                yield frame
        if self._own.words[HEAD] != self._head:
            self._own.words[HEAD] = self._head
        self.waker.wake_below(self._head)  # For space: the ring is empty, so there is enough.

    def park(self) -> bool:
        """Announces that this side sleeps on its socket until there is data. Returns False if there is."""
        self._own.words[PARKED_FOR_DATA] = self._head | BY_DOORBELL
        fence()
        return self._peer.words[TAIL] == self._head

    def unpark(self) -> None:
        self._own.words[PARKED_FOR_DATA] = 0

    def _read_one(self) -> Optional[Frame]:
        capacity = self._peer.capacity
        at = self._head % capacity
        length, kind, flags, head_length, stream_id, argument = RECORD.unpack(bytes(self._peer.data[at:at + 16]))
        size = aligned(16 + length)
        if kind < MOVED and length > capacity // 8 - 16 or size > min(capacity - at, self._tail - self._head):
            raise Violation(f"a record of {length} bytes does not fit")
        self._head += size
        if kind == PADDING:
            if at == 0 or at + size != capacity:
                raise Violation("padding is not between a record and the end of the ring")
            return None
        if kind == MOVED:
            if not self._peer.has_second or length or flags or head_length or stream_id or argument:
                raise Violation("a move without a second ring, or with other fields than its kind")
            self._peer.check_second()
            self._peer.use_second()
            if self._tail - self._head > self._peer.most_ahead:
                raise Violation("more than the second ring holds")
            self.moves += 1
            return None
        if head_length > length:
            raise Violation(f"a head of {head_length} bytes in a payload of {length}")
        payload = bytes(self._peer.data[at + 16:at + 16 + length])
        return Frame(kind, flags, stream_id, argument, payload[:head_length], payload[head_length:])


# ---- Section 6: calls

class Call:
    """One call. Messages are bytes; serialising them is the user's affair."""

    MAX_MESSAGE = 64 << 20

    def __init__(self, connection: Connection, call_id: int):
        self._connection = connection
        self.id = call_id
        self.headers: Metadata = []
        self.status: Optional[Status] = None
        self.frames = 0
        self.messages: deque[tuple[bytes, int]] = deque()
        self.credit = connection.peer_limits.call_window
        self._allowance = connection.limits.call_window
        self._due = 0
        self.has_answer = self._has_message = False
        self._partial: Optional[bytearray] = None
        self._partial_size = self._partial_cost = 0
        self._is_free = self._is_last = False
        self._head: Optional[tuple[int, bytearray]] = None
        self._is_cancelled = False

    def send(self, message: bytes, is_last: bool = False, is_single: bool = False) -> None:
        """Sends a message in as many frames as it takes. is_single: the direction has no other message."""
        # A quarter of the window per frame: half a window is the most that a receiver may owe.
        if len(message) > self._connection.outgoing.max_payload:
            self._connection.outgoing.grow()
        limit = min(self._connection.outgoing.max_payload, self._connection.peer_limits.call_window // 4)
        at = 0
        while self.status is None and not self._is_cancelled:
            part = message[at:at + limit]
            is_end = at + len(part) == len(message)
            if not is_single:
                self._connection.wait(lambda: self.credit >= len(part) + 16 or self.status is not None)
                self.credit -= len(part) + 16
            flags = (HALF_CLOSED if is_end and is_last else 0) | (SINGLE if is_single and at == 0 else 0)
            self._connection.write(MESSAGE_CHUNK if at else MESSAGE, self.id, part, flags,
                                   argument=0 if at else len(message))
            at += len(part)
            if is_end:
                return

    def half_close(self) -> None:
        if self.status is None:
            self._connection.write(HALF_CLOSE, self.id)

    def cancel(self) -> None:
        """Asks the server to end the call; its End still comes."""
        if self.status is None and not self._is_cancelled:
            self._is_cancelled = True
            self._connection.write(CANCEL, self.id)

    def next(self) -> Optional[bytes]:
        """Returns the next message, or None when the call has ended and all are taken."""
        while not self.has_next() and self.status is None:
            self._give_back(self._partial_cost)
            self._partial_cost = 0
            before = self.frames
            self._connection.wait(lambda: self.frames != before or self.has_next())
        if not self.messages:
            return None
        message, cost = self.messages.popleft()
        self._give_back(cost)
        return message

    def has_next(self) -> bool:
        """Whether a message is there."""
        return len(self.messages) > 0

    def end(self) -> Status:
        """Waits for the end of the call, and returns it. Messages that have not been taken remain."""
        self._connection.wait(lambda: self.status is not None)
        assert self.status is not None
        return self.status

    def _give_back(self, cost: int) -> None:
        self._due += cost
        if self.status is None and self._due >= self._connection.limits.call_window // 2:
            self._allowance += self._due
            self._connection.write(CREDIT, self.id, argument=self._due)
            self._due = 0

    def take(self, frame: Frame) -> None:
        """Takes a frame of the peer."""
        self.frames += 1
        if self._head is not None and frame.kind != HEAD_CHUNK:
            raise Violation(f"a frame of kind {frame.kind} inside a head")
        if frame.kind == CREDIT:
            self.credit += frame.argument
            if self.credit > MAX_CREDIT:
                raise Violation("more than 1 GiB of credit")
        elif frame.kind in (HEADERS, END, HEAD_CHUNK):
            self._take_head(frame)
        elif frame.kind == MESSAGE:
            self._begin_message(frame)
        else:
            self._add_part(frame)

    def _take_head(self, frame: Frame) -> None:
        if frame.kind == HEAD_CHUNK:
            if self._head is None:
                raise Violation("a part of a head without a beginning")
            kind, head = self._head
        else:
            kind, head = frame.kind, bytearray()
        head += frame.head
        self._head = (kind, head) if frame.flags & HEAD_CONTINUES else None
        if len(head) > self._connection.limits.max_metadata + (256 << 10):
            raise Violation("a head beyond the limit")  # A product would drop it and fail the call.
        if self._head is not None:
            return
        if kind == HEADERS:
            if not self.has_answer:
                self.headers, self.has_answer = read_metadata(bytes(head)), True
            return
        if frame.flags & HAS_MESSAGE:
            if self._has_message:
                raise Violation("an end with a message after another one")
            self.messages.append((frame.body, 0))
        self.status = read_status(bytes(head))
        if self._partial is not None and self.status.code == OK:
            raise Violation("OK within a message")
        self._connection.forget(self)

    def _begin_message(self, frame: Frame) -> None:
        if self._partial is not None or self._is_last:
            raise Violation("a message inside another one, or after the last")
        self._is_free = frame.flags & SINGLE != 0 and not self._has_message
        self.has_answer = self._has_message = True
        self._partial, self._partial_size = bytearray(), frame.argument
        self._add_part(frame)

    def _add_part(self, frame: Frame) -> None:
        if self._partial is None:
            raise Violation("a part of a message without a beginning")
        if not self._is_free:
            cost = len(frame.body) + 16
            self._allowance -= cost
            self._partial_cost += cost
            if self._allowance < 0:
                raise Violation("more credit used than given")
        self._partial += frame.body
        if len(self._partial) > min(self._partial_size, self.MAX_MESSAGE):
            raise Violation("a message longer than announced, or than this client takes")
        is_whole = len(self._partial) == self._partial_size
        self._is_last = frame.flags & HALF_CLOSED != 0
        if self._is_last and not is_whole:
            raise Violation("the last message is cut short")
        if is_whole:
            if not self._is_cancelled:
                self.messages.append((bytes(self._partial), self._partial_cost))
            self._partial, self._partial_cost = None, 0


class Connection:
    """One connection to a server: the handshake, the two rings, and the calls."""

    SECONDS = 30.0
    CALL = Call

    # What the server may send.
    FLAGS: dict[int, int] = SERVER_FLAGS
    WITHOUT_PAYLOAD: tuple[int, ...] = WITHOUT_PAYLOAD
    WITH_ARGUMENT: tuple[int, ...] = WITH_ARGUMENT
    OF_CONNECTION: tuple[int, ...] = (GO_AWAY,)

    def __init__(self, path: str, limits: Limits = Limits(), versions: tuple[int, int] = (VERSION, VERSION),
                 seals: int = ALL_SEALS, has_holes: bool = False, missing: int = 0,
                 purpose: int = PURPOSE_CALLS, is_sleeping: bool = False, features: int = 0):
        """is_sleeping: whether this side sleeps on its socket instead of polling. features: those that it offers."""
        if platform.machine() not in SYS_FUTEX:
            raise NotImplementedError(f"Loads and stores are not ordered on {platform.machine()}.")
        self.limits = limits
        self.features = features
        self.is_going_away = False
        self._is_sleeping = is_sleeping
        self.sleeps = self.doorbells = 0
        self._calls: dict[int, Call] = {}
        self._generations: list[int] = []
        self._free_slots: list[int] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(self.SECONDS)
        connection_id = os.urandom(16)
        fd, self._own = Segment.create(limits.ring_capacity, connection_id, seals, has_holes, missing)
        try:
            self._connect(path)
            hello = HELLO.pack(
                MAGIC, TYPE_CLIENT, purpose, *versions, 0, HELLO.size, features, connection_id, *limits)
            try:
                socket.send_fds(self._socket, [hello], [fd])
            except (BrokenPipeError, ConnectionResetError):
                pass  # A server may refuse before it reads the hello: the refusal is still there to be read.
            self.peer_limits, self._peer = self._welcome(connection_id)
        except BaseException:
            self._socket.close()
            raise
        finally:
            os.close(fd)
        self.one_way_cost = 0  # of the one-way calls without an End
        self._one_way: dict[int, int] = {}  # their costs
        self._socket.setblocking(False)
        self.outgoing = OutgoingRing(self._own, self._peer, self._ring)
        self.incoming = IncomingRing(self._own, self._peer, self._ring)

    def start(self, method: str, message: Optional[bytes] = None, metadata: Metadata = (),
              timeout: Optional[float] = None) -> Call:
        """Starts a call. message: the only request; without it, the caller sends messages and half-closes."""
        call = self.CALL(self, self._next_id())
        self._calls[call.id] = call
        head = write_request_head(method, timeout, metadata)
        limit = self.outgoing.max_payload
        if message is not None and len(head) + len(message) <= limit:
            self.write(CALL_START, call.id, head + message, HAS_MESSAGE | HALF_CLOSED, len(head))
            return call
        kind = CALL_START
        while True:
            part, head = head[:min(limit, 65535)], head[min(limit, 65535):]
            self.write(kind, call.id, part, HEAD_CONTINUES if head else 0, len(part))
            kind = HEAD_CHUNK
            if not head:
                break
        if message is not None:
            call.send(message, is_last=True, is_single=True)
        return call

    def send_one_way(self, method: str, message: bytes) -> None:
        """Makes a one-way call when the server has room for it. Its End gives the room back."""
        self.wait(lambda: self.one_way_cost < self.peer_limits.call_window
                  and len(self._one_way) < max(1, self.peer_limits.max_calls // 2))
        call = Call(self, self._next_id())
        call_id = call.id
        self._calls[call_id] = call
        head = write_request_head(method, None, ())
        self._one_way[call_id] = ONE_WAY_COST + len(head) + len(message)
        self.one_way_cost += self._one_way[call_id]
        limit = self.outgoing.max_payload
        if len(head) + len(message) <= limit:
            self.write(CALL_START, call_id, head + message, HAS_MESSAGE | HALF_CLOSED | ONE_WAY, len(head))
        else:
            self.write(CALL_START, call_id, head, ONE_WAY, len(head))
            for at in range(0, len(message), limit):
                part, is_last = message[at:at + limit], at + limit >= len(message)
                flags = (HALF_CLOSED if is_last else 0) | (0 if at else SINGLE)
                self.write(MESSAGE_CHUNK if at else MESSAGE, call_id, part, flags, argument=0 if at else len(message))

    def write(self, kind: int, stream_id: int, payload: bytes = b"", flags: int = 0, head_length: int = 0,
              argument: int = 0) -> None:
        """Writes a record as soon as there is space."""
        self.wait(lambda: self.outgoing.try_write(kind, stream_id, payload, flags, head_length, argument))

    def wait(self, condition: Callable[[], object]) -> None:
        """Takes the peer's frames until the condition is true."""
        end = time.monotonic() + self.SECONDS
        while not condition():
            if not self.turn():
                self._idle()
                if time.monotonic() > end:
                    raise TimeoutError("The peer did not do what this client waits for.")

    def turn(self) -> bool:
        """Takes the frames that are there. Returns whether there was one."""
        count = 0
        try:
            for frame in self.incoming.read_all():
                count += 1
                self._take(frame)
        except Violation as violation:
            self._refuse(str(violation))
            raise
        return count > 0

    def forget(self, call: Call) -> None:
        """The call has ended: its slot is free, and the room of a one-way call."""
        del self._calls[call.id]
        self.one_way_cost -= self._one_way.pop(call.id, 0)
        self._free_slots.append(call.id >> 1 & 0xFFFF)

    def peer_waits_for_data(self) -> bool:
        return self._peer.words[PARKED_FOR_DATA] & BY_DOORBELL != 0

    def peer_waits_for_space(self) -> bool:
        return self._peer.words[PARKED_FOR_SPACE] & (BY_FUTEX | BY_DOORBELL) != 0

    def close(self) -> None:
        """Ends the connection; the peer sees the end of the socket."""
        self._socket.close()
        self._own.close()
        self._peer.close()

    def _take(self, frame: Frame) -> None:
        if frame.kind not in self.FLAGS or frame.flags & ~self.FLAGS[frame.kind]:
            raise Violation(f"a frame of kind {frame.kind} with flags {frame.flags}")
        is_all_head = frame.kind in WITH_HEAD and not frame.flags & HAS_MESSAGE
        if (frame.flags & (HAS_MESSAGE | HEAD_CONTINUES) == HAS_MESSAGE | HEAD_CONTINUES
                or is_all_head and frame.body or frame.head and frame.kind not in WITH_HEAD
                or frame.body and frame.kind in self.WITHOUT_PAYLOAD
                or frame.argument and frame.kind not in self.WITH_ARGUMENT
                or (frame.stream_id == 0) != (frame.kind in self.OF_CONNECTION)):
            raise Violation(f"fields that a frame of kind {frame.kind} does not have: {frame[:4]}")
        if frame.stream_id == 0:
            self.take_news(frame)
            return
        call = self._calls.get(frame.stream_id)
        if call is None:
            raise Violation(f"a frame of kind {frame.kind} for call {frame.stream_id}, which is not open")
        if call.id in self._one_way and (frame.kind not in (END, HEAD_CHUNK) or frame.flags & HAS_MESSAGE):
            raise Violation(f"a frame of kind {frame.kind} for a one-way call, which is answered by an End alone")
        call.take(frame)

    def take_news(self, frame: Frame) -> None:
        """Takes a frame of the connection."""
        self.is_going_away = True

    def take_file(self, start: bytes) -> bool:
        """Takes a file that the server passes, if the socket's next byte begins a notice of one."""
        return False

    def park_for_more(self) -> bool:
        """Announces that this side sleeps, where that is not in the words of the rings. Returns False if it may not."""
        return True

    def unpark_for_more(self) -> None:
        """This side is awake."""

    def _next_id(self) -> int:
        if not self._free_slots:
            if len(self._generations) == self.peer_limits.max_calls:
                raise Refused(0, "The server takes no more calls at a time.")
            self._free_slots.append(len(self._generations))
            self._generations.append(0)
        slot = self._free_slots.pop()
        self._generations[slot] = self._generations[slot] % 32767 + 1
        return self._generations[slot] << 17 | slot << 1

    def _connect(self, path: str) -> None:
        end = time.monotonic() + self.SECONDS
        while True:
            try:
                return self._socket.connect(path)
            except BlockingIOError:  # The server's backlog is full, and there is nothing to wait on.
                if time.monotonic() > end:
                    raise
                time.sleep(0.002)

    def _ring(self) -> None:
        try:
            self._socket.send(DOORBELL, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError:
            pass  # The peer has doorbells that it has not read, or is gone, which the next look at the socket finds.

    def _idle(self) -> None:
        """Waits, and notices what the socket says (sections 2, 5 and 8)."""
        if not self._is_sleeping:
            readable, _, _ = select.select([self._socket], [], [], 0.0002)
        else:
            readable = self._sleep()
        if not readable or self._take_doorbells() or self.turn():  # What the peer wrote before its end still counts.
            return
        raise self._refusal(self._receive(HELLO_START.size))

    def _sleep(self) -> list:
        """Sleeps on the socket until the peer rings for data or for space. There is no other timeout than the caller's,
        so a doorbell that the peer forgets fails the test."""
        readable: list = []
        try:
            if (self.incoming.park() and (not self.outgoing.is_full or self.outgoing.park())
                    and self.park_for_more()):
                self.sleeps += 1
                readable, _, _ = select.select([self._socket], [], [], self.SECONDS)
        finally:
            self.incoming.unpark()
            self.outgoing.unpark()
            self.unpark_for_more()
        return readable

    def _take_doorbells(self) -> bool:
        """Takes the doorbells and files that have come on the socket. Returns whether there was one."""
        doorbells = files = 0
        while True:
            try:
                start = self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
                if start == DOORBELL:
                    self._socket.recv(1)
                    doorbells += 1
                elif self.take_file(start):
                    files += 1
                else:
                    break
            except (BlockingIOError, ConnectionResetError):  # A reset, by a peer with unread doorbells, is an end.
                break
        if doorbells > 0 and not self._is_sleeping:
            raise Violation("a doorbell for a side that never asked for one")
        self.doorbells += doorbells
        return doorbells + files > 0

    def _refusal(self, start: bytes) -> Refused:
        _, _, _, lowest, highest, reason, length, _ = HELLO_START.unpack(start)
        text = self._receive(length - HELLO_START.size) if length > HELLO_START.size else b""
        return Refused(reason, text.decode(errors="replace"))

    def _refuse(self, text: str) -> None:
        body = text.encode()
        self._socket.send(HELLO_START.pack(
            MAGIC, TYPE_REFUSAL, 0, VERSION, VERSION, REASON_VIOLATION, HELLO_START.size + len(body), 0) + body)

    def _welcome(self, connection_id: bytes) -> tuple[Limits, Segment]:
        start, fds, _, _ = socket.recv_fds(self._socket, HELLO_START.size, 4, socket.MSG_CMSG_CLOEXEC)
        try:
            start += self._receive(HELLO_START.size - len(start))
            magic, kind, purpose, lowest, highest, _, length, features = HELLO_START.unpack(start)
            if magic != MAGIC or not HELLO_START.size <= length <= 4096:
                raise Violation("no hello")
            if kind == TYPE_REFUSAL:
                raise self._refusal(start)
            if kind != TYPE_SERVER or purpose != PURPOSE_CALLS or lowest != VERSION or len(fds) != 1:
                raise Violation(f"a hello of type {kind}, version {lowest}, with {len(fds)} descriptors")
            if features & ~self.features:
                raise Violation(f"features {features}, which were not offered")
            self.features = features
            hello = start + self._receive(length - HELLO_START.size)
            _, _, _, _, _, _, _, _, repeated, *figures = HELLO.unpack(hello[:HELLO.size])
            if repeated != connection_id:
                raise Violation("a hello for another connection")
            limits = Limits(*figures)
            return limits, Segment.open(fds[0], limits.ring_capacity)
        finally:
            for fd in fds:
                os.close(fd)

    def _receive(self, count: int) -> bytes:
        data = b""
        self._socket.settimeout(self.SECONDS)
        while len(data) < count:
            more = self._socket.recv(count - len(data))
            if not more:
                raise PeerGone("The peer closed the socket.")
            data += more
        return data
