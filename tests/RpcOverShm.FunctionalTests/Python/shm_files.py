"""The features Loans and Topics of the second implementation: files that are passed on the socket after the handshake.

It follows proto/PROTOCOL.md, section 6 (Loans) and section 14 (Topics), and adds them to shm_client, which knows no
feature.
"""
from __future__ import annotations

import fcntl
import mmap
import os
import socket
import struct
from collections import deque
from typing import Optional

from shm_client import (
    ALL_SEALS, HALF_CLOSED, HEADER_SIZE, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MESSAGE, PADDING, RECORD,
    SEALS_OF_PEERS, SERVER_FLAGS, SINGLE, Call, Connection, Frame, Status, Violation, aligned, fence,
    has_pages)

LOANS, TOPICS = 1, 2
NOTICE = struct.Struct("<IIQ")
NOTICE_TYPE = 2
FIRST_TOPIC = 64
BLOCK = 64 << 10
REFERENCE = struct.Struct("<IIII")
LOANED = 32
TOPIC_PARKING = 640 // 8
FILE_MAPPED, FILE_REFUSED, RETURNED, RETURNS_WANTED = range(13, 17)
TOPIC_START, TOPIC_END, TOPIC_READ, TOPIC_DROPPED = range(17, 21)
WAIT, END_IF_SLOW, SKIP = range(3)
DATA_LOSS = 15
SKIPPED_TRAILER = "rpcovershm-topic-skipped"

# Indexes of the words of a topic's file, and the kind of its records (section 14).
TAIL, NEWEST_RECORD, OLDEST_RECORD = 128 // 8, 256 // 8, 384 // 8
TOPIC_MESSAGE = 1


class MappedFile:
    """A file of the server. It stays mapped while the connection or a call holds it."""

    def __init__(self, fd: int, header: int, size: int):
        if fcntl.fcntl(fd, fcntl.F_GET_SEALS) & SEALS_OF_PEERS != SEALS_OF_PEERS:
            raise Violation("a file lacks seals")
        if os.fstat(fd).st_size != header + size or not has_pages(fd, header + size):
            raise Violation("a file has another size than announced, or holes")
        self.size = size
        self._memory = mmap.mmap(fd, header + size, prot=mmap.PROT_READ)
        self._memory.madvise(MADV_POPULATE_READ)
        self._memory.madvise(mmap.MADV_DONTFORK)
        self._view = memoryview(self._memory)
        self.words = self._view[:header].cast("Q")
        self.data = self._view[header:]
        self._holds = 1

    def hold(self) -> MappedFile:
        self._holds += 1
        return self

    def release(self) -> None:
        self._holds -= 1
        if self._holds == 0:
            self.words.release()
            self.data.release()
            self._view.release()
            self._memory.close()


class TopicStream:
    """The messages of a topic that belong to an answer."""

    def __init__(self, file: MappedFile, when_slow: int, turn: int, position: int, sequence: int):
        self.turn = turn
        self._file = file.hold()
        self._when_slow = when_slow
        self._position = self._tail = self._told = position
        self._oldest = 0
        self._expected = sequence
        self._may_miss = False
        self.end: Optional[int] = None
        self.skipped = 0

    @property
    def is_at_end(self) -> bool:
        return self.end is not None and self._position >= self.end

    def has_more(self) -> bool:
        return self.is_at_end or self._file.words[TAIL] != self._position

    def untold(self) -> Optional[int]:
        """The position that the server must be told, if it is due."""
        if self._when_slow != WAIT or self._position - self._told < self._file.size // 8:
            return None
        self._told = self._position
        return self._position

    def take(self) -> Optional[tuple[bytes, int]]:
        """Returns the next message and the number of those that are missing before it, or None if there is none."""
        while not self.is_at_end and self._look():
            capacity = self._file.size
            at = self._position % capacity
            header = RECORD.unpack(bytes(self._file.data[at:at + RECORD.size]))
            if self._is_overwritten():
                self._go_on()
                continue
            length, kind, flags, head_length, low, high = header
            size = aligned(16 + length)
            if size > min(capacity - at, self._tail - self._position):
                raise Violation(f"a record of {length} bytes does not fit")
            if kind == PADDING:
                if at == 0 or at + size != capacity:
                    raise Violation("padding is not between a record and the end of the ring")
                self._position += size
                continue
            if kind != TOPIC_MESSAGE or flags or head_length or length > capacity // 4 - 16:
                raise Violation(f"a record of kind {kind}, with flags {flags} and {length} bytes")
            sequence = low | high << 32
            message = bytes(self._file.data[at + 16:at + 16 + length])
            if self._is_overwritten():
                self._go_on()
                continue
            lost = sequence - self._expected
            if lost < 0 or lost > 0 and not self._may_miss:
                raise Violation(f"message {sequence} follows, where {self._expected} was expected")
            self._position += size
            self._expected, self._may_miss = sequence + 1, False
            self.skipped += lost
            return message, lost
        return None

    def close(self) -> None:
        self._file.release()

    @property
    def ends_if_slow(self) -> bool:
        return self._when_slow == END_IF_SLOW

    def _look(self) -> bool:
        tail = self._file.words[TAIL]
        if tail < self._tail or tail % 16:
            raise Violation(f"a topic's tail went from {self._tail} to {tail}")
        self._tail = tail
        return tail != self._position

    def _is_overwritten(self) -> bool:
        oldest = self._file.words[OLDEST_RECORD]
        if oldest < self._oldest or oldest % 16:
            raise Violation(f"a topic's oldest record went from {self._oldest} to {oldest}")
        self._oldest = oldest
        return oldest > self._position

    def _go_on(self) -> None:
        """What comes next was overwritten."""
        if self._when_slow == WAIT:
            self.end = self._position  # The server has given up, and the End of the call is on its way.
            return
        self._look()
        newest = self._file.words[NEWEST_RECORD]
        if newest < self._oldest or newest % 16:
            raise Violation(f"a topic's newest record is at {newest}, its oldest at {self._oldest}")
        self._position = max(self._position, min(newest, self._tail))
        self._may_miss = True


class FileCall(Call):
    """A call whose answer may have messages of a topic, and messages that were lent."""

    def __init__(self, connection: FileConnection, call_id: int):
        super().__init__(connection, call_id)
        self._files = connection
        self._open: Optional[TopicStream] = None
        self._failure: Optional[Status] = None
        self.skipped = 0
        self.lent = 0  # messages that were lent to this side

    def has_next(self) -> bool:
        while self.messages and isinstance(self.messages[0][0], TopicStream):
            stream = self.messages[0][0]
            taken = stream.take()
            if taken is not None and taken[1] > 0 and stream.ends_if_slow:
                self._failure = Status(DATA_LOSS, f"{taken[1]} messages", [], False)
                self._drop()
                self.cancel()
            elif taken is not None:
                self.messages.appendleft((taken[0], 0))
                position = stream.untold()
                if position is not None and self.status is None:
                    self._files.write(TOPIC_READ, self.id, struct.pack("<qI", position, stream.turn))
            elif stream.is_at_end or self.status is not None:
                self.skipped += stream.skipped
                self._files.streams.remove(stream)
                stream.close()
                self.messages.popleft()
            else:
                return False
        return super().has_next()

    def end(self) -> Status:
        status = self._failure or super().end()
        if self.skipped:
            status.trailers.append((SKIPPED_TRAILER, b"%d" % self.skipped))
        return status

    def lend(self, data: bytes) -> None:
        """Sends the only message by reference."""
        block = self._files.place(data)
        self._files.write(MESSAGE, self.id, REFERENCE.pack(0, block, len(data), 0), LOANED | SINGLE | HALF_CLOSED,
                          argument=len(data))

    def take(self, frame: Frame) -> None:
        if frame.kind in (TOPIC_START, TOPIC_END):
            self.frames += 1
            self._take_topic(frame)
        elif frame.kind == MESSAGE and frame.flags & LOANED:
            self.frames += 1
            self._take_loaned(frame)
        else:
            super().take(frame)

    def _take_topic(self, frame: Frame) -> None:
        if self._head is not None or self._partial is not None or self._is_last:
            raise Violation("a topic inside of a message or a head, or after the last message")
        if frame.kind == TOPIC_START:
            if len(frame.body) != 24 or self._open is not None:
                raise Violation("a topic begins with another size, or before the end of the last one")
            number, when_slow, turn, position, sequence = struct.unpack("<IHHqq", frame.body)
            is_mapped = number >= FIRST_TOPIC and number in self._files.files
            if not is_mapped or when_slow > SKIP or min(position, sequence) < 0:
                raise Violation(f"topic {number} is read with {when_slow} from {position}")
            self.has_answer = self._has_message = True
            self._open = TopicStream(self._files.files[number], when_slow, turn, position, sequence)
            self._files.streams.append(self._open)
            self.messages.append((self._open, 0))
            return
        if len(frame.body) != 8 or self._open is None:
            raise Violation("a topic ends that has not begun, or with another size")
        if self._open.end is None:
            self._open.end = struct.unpack("<q", frame.body)[0]
        self._open = None

    def _take_loaned(self, frame: Frame) -> None:
        if self._head is not None or self._partial is not None or self._is_last or len(frame.body) < REFERENCE.size:
            raise Violation("a lent message inside of another one, after the last, or without a reference")
        number, block, length, zero = REFERENCE.unpack(frame.body[:REFERENCE.size])
        inline = frame.body[REFERENCE.size:]
        file = self._files.files.get(number) if number < FIRST_TOPIC else None
        if (file is None or zero or not 0 < length <= file.size - block * BLOCK
                or len(inline) + length != frame.argument):
            raise Violation(f"a reference to {length} bytes at block {block} of file {number}")
        is_free = frame.flags & SINGLE != 0 and not self._has_message
        self.has_answer = self._has_message = True
        cost = 0 if is_free else len(frame.body) + 16
        self._allowance -= cost
        if self._allowance < 0:
            raise Violation("more credit used than given")
        self._is_last = frame.flags & HALF_CLOSED != 0
        self.lent += 1
        if not self._is_cancelled:
            self.messages.append((inline + bytes(file.data[block * BLOCK:block * BLOCK + length]), cost))
        self._files.give_back(number, block)

    def _drop(self) -> None:
        for message, _ in self.messages:
            if isinstance(message, TopicStream):
                self._files.streams.remove(message)
                message.close()
        self.messages.clear()


class FileConnection(Connection):
    """A connection that offers Loans, Topics or both."""

    CALL = FileCall
    FLAGS = {**SERVER_FLAGS, MESSAGE: SERVER_FLAGS[MESSAGE] | LOANED, FILE_MAPPED: 0, FILE_REFUSED: 0, RETURNED: 0,
             RETURNS_WANTED: 0, TOPIC_START: 0, TOPIC_END: 0, TOPIC_DROPPED: 0}
    WITHOUT_PAYLOAD = (*Connection.WITHOUT_PAYLOAD, FILE_MAPPED, FILE_REFUSED, RETURNS_WANTED, TOPIC_DROPPED)
    WITH_ARGUMENT = (*Connection.WITH_ARGUMENT, FILE_MAPPED, FILE_REFUSED, TOPIC_DROPPED)
    OF_CONNECTION = (*Connection.OF_CONNECTION, FILE_MAPPED, FILE_REFUSED, RETURNED, RETURNS_WANTED, TOPIC_DROPPED)
    OWN_BYTES = 1 << 20

    def __init__(self, path: str, refuses_files: bool = False, **options: object):
        self.files: dict[int, MappedFile] = {}
        self.streams: list[TopicStream] = []
        self.dropped_topics = 0
        self._refuses_files = refuses_files
        self._next = {LOANS: 0, TOPICS: FIRST_TOPIC}
        self._news: deque[tuple[int, bytes, int]] = deque()
        self._parks = 0
        self._own_file: Optional[mmap.mmap] = None
        self._is_own_mapped: Optional[bool] = None
        self._lent: set[int] = set()
        super().__init__(path, **options)

    def turn(self) -> bool:
        has_taken = super().turn()
        self.flush()
        return has_taken

    def flush(self) -> None:
        """Sends what the server must be told of files, as far as there is space."""
        while self._news:
            kind, body, argument = self._news[0]
            if not self.outgoing.try_write(kind, 0, body, argument=argument):
                return
            self._news.popleft()

    def give_back(self, number: int, block: int) -> None:
        self._news.append((RETURNED, struct.pack("<II", number, block), 0))

    def place(self, data: bytes) -> int:
        """Writes a message to the own file, which the server has mapped. Returns its block."""
        if self._own_file is None:
            self._pass_own_file()
            self.wait(lambda: self._is_own_mapped is not None)
        if not self._is_own_mapped:
            raise Violation("the server has refused a file")
        blocks = -(-len(data) // BLOCK)
        free = [block for block in range(self.OWN_BYTES // BLOCK - blocks + 1)
                if not any(at in self._lent for at in range(block, block + blocks))]
        assert self._own_file is not None
        self._own_file[free[0] * BLOCK:free[0] * BLOCK + len(data)] = data
        self._lent.add(free[0])
        return free[0]

    def wait_for_returns(self) -> None:
        """Waits until the server has given everything back."""
        if self._lent:
            self.write(RETURNS_WANTED, 0)
            self.wait(lambda: not self._lent)

    def take_news(self, frame: Frame) -> None:
        if frame.kind in (FILE_MAPPED, FILE_REFUSED):
            if frame.argument != 0 or self._own_file is None or self._is_own_mapped is not None:
                raise Violation(f"an answer for file {frame.argument}, which does not wait for one")
            self._is_own_mapped = frame.kind == FILE_MAPPED
        elif frame.kind == RETURNED:
            if not frame.body or len(frame.body) % 8:
                raise Violation(f"{len(frame.body)} bytes of returns")
            for number, block in struct.iter_unpack("<II", frame.body):
                if number != 0 or block not in self._lent:
                    raise Violation(f"block {block} of file {number} is not on loan")
                self._lent.remove(block)
        elif frame.kind == TOPIC_DROPPED:
            if frame.argument < FIRST_TOPIC or frame.argument not in self.files:
                raise Violation(f"topic {frame.argument} is dropped, which is not mapped")
            self.files.pop(frame.argument).release()
            self.dropped_topics += 1
        elif frame.kind != RETURNS_WANTED:  # This side holds nothing back.
            super().take_news(frame)

    def take_file(self, start: bytes) -> bool:
        if start != bytes([NOTICE_TYPE]) or not self.features:
            return False
        notice, fds, _, _ = socket.recv_fds(self._socket, NOTICE.size, 4, socket.MSG_CMSG_CLOEXEC)
        try:
            if len(notice) != NOTICE.size or len(fds) != 1:
                raise Violation(f"a notice of {len(notice)} bytes with {len(fds)} descriptors")
            kind, number, size = NOTICE.unpack(notice)
            feature = LOANS if number < FIRST_TOPIC else TOPICS
            if kind != NOTICE_TYPE or number != self._next[feature] or not self.features & feature \
                    or size % BLOCK or not 0 < size <= 1 << 30:
                raise Violation(f"a notice of file {number} with {size} bytes")
            self._next[feature] += 1
            is_mapped = not self._refuses_files
            if is_mapped:
                self.files[number] = MappedFile(fds[0], HEADER_SIZE if feature == TOPICS else 0, size)
            self._news.append((FILE_MAPPED if is_mapped else FILE_REFUSED, b"", number))
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def park_for_more(self) -> bool:
        if not self.streams:
            return True
        self._parks += 1
        self._own.words[TOPIC_PARKING] = self._parks << 1 | 1
        fence()
        return not any(stream.has_more() for stream in self.streams)

    def unpark_for_more(self) -> None:
        self._own.words[TOPIC_PARKING] = self._parks << 1

    def close(self) -> None:
        super().close()
        for stream in self.streams:
            stream.close()
        for file in self.files.values():
            file.release()
        if self._own_file is not None:
            self._own_file.close()

    def _pass_own_file(self) -> None:
        fd = os.memfd_create("rpcovershm-python-data", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, self.OWN_BYTES)
            self._own_file = mmap.mmap(fd, self.OWN_BYTES)
            self._own_file.madvise(MADV_POPULATE_WRITE)
            self._own_file.madvise(mmap.MADV_DONTFORK)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, ALL_SEALS)
            socket.send_fds(self._socket, [NOTICE.pack(NOTICE_TYPE, 0, self.OWN_BYTES)], [fd])
        finally:
            os.close(fd)
