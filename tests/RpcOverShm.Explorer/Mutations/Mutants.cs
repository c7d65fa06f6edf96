using RpcOverShm.Explorer.Model;

namespace RpcOverShm.Explorer.Mutations;

/// <summary>Every rule of the rings and of waiting that a scenario must miss when it is left out.</summary>
internal static class Mutants
{
    private const string Writer = "RingWriter.cs";
    private const string Reader = "RingReader.cs";
    private const string Signal = "FutexSignal.cs";
    private const string Receiver = "ByteReceiver.cs";
    private const string Sender = "ByteSender.cs";

    public static IReadOnlyList<Mutant> All { get; } =
        [.. Fences, .. WriterRules, .. ReaderRules, .. ReaderChecks, .. LoopRules, .. MutantsOfTopics.All];

    private static IEnumerable<Mutant> Fences =>
    [
        new(
            "full fence after the tail", Writer,
            "WriteFenced(ref *_tailWord, _tail)",
            "WriteRelease(ref *_tailWord, _tail)",
            "data"),
        new(
            "full fence after the head", Reader,
            "WriteFenced(ref *_headWord, _head)",
            "WriteRelease(ref *_headWord, _head)",
            "space"),
        new(
            "full fence after parked-for-data", Reader,
            "WriteFenced(ref *_parkedForDataWord, _head | (long)wakeMethods)",
            "WriteRelease(ref *_parkedForDataWord, _head | (long)wakeMethods)",
            "data"),
        new(
            "full fence after parked-for-space", Writer,
            "WriteFenced(ref *_parkedForSpaceWord, seen | (long)wakeMethods)",
            "WriteRelease(ref *_parkedForSpaceWord, seen | (long)wakeMethods)",
            "space"),
        new(
            "release of the tail", Writer,
            "WriteFenced(ref *_tailWord, _tail)",
            "WritePlain(ref *_tailWord, _tail)",
            "data") { Order = StoreOrder.OutOfOrder },
        new(
            "acquire of the tail", Reader,
            "long tail = SharedMemoryOrder.ReadAcquire(",
            "long tail = SharedMemoryOrder.ReadPlain(",
            "data") { Order = StoreOrder.OutOfOrder },
    ];

    private static IEnumerable<Mutant> WriterRules =>
    [
        new(
            "a full ring is full", Writer,
            "        RefreshHead();\n        return UsedBytes + bytes <= limit;",
            "        RefreshHead();\n        return UsedBytes + bytes <= limit + 64;",
            "space"),
        new("padding counts as used", Writer, "            _tail += claim.PaddingBytes;\n", "", "space, padding"),
        new(
            "padding is written", Writer,
            "new RecordHeader(length, RecordHeader.PaddingKind",
            "new RecordHeader(length, 0",
            "space, padding"),
        new(
            "a wake for each parked value", Writer,
            "        _lastWakeWord = parked;\n        return ParkedWord.WakeMethodsOf(parked);",
            "        return _lastWakeWord == (_lastWakeWord = 1) ? (WakeMethods)(parked & 3) : WakeMethods.None;",
            "data"),
        new(
            "no wake before the position is passed", Writer,
            "\n            || _tail <= (parked & ParkedWord.PositionMask)",
            "",
            "data, batches"),
        new(
            "parked for data is the position", Reader,
            "ref *_parkedForDataWord, _head | (long)wakeMethods",
            "ref *_parkedForDataWord, (long)wakeMethods",
            "data"),
        new(
            "parked for space is the head", Writer,
            "ref *_parkedForSpaceWord, seen | (long)wakeMethods",
            "ref *_parkedForSpaceWord, (long)wakeMethods",
            "space, twice"),
        new(
            "the head is checked after parking", Writer,
            "        RefreshHead();\n        return _head == seen",
            "        return _head == seen",
            "space, bells"),
        new(
            "a loop that is parked counts as parked", Writer,
            "(parked & ParkedWord.WakeMethodsMask) == 0",
            "(parked & 1) == 0",
            "data, loop"),
        new(
            "unparking", Writer,
            "WriteRelease(ref *_parkedForSpaceWord, 0)",
            "ReadAcquire(ref *_parkedForSpaceWord)",
            "space"),
        new(
            "the move is a record", Writer,
            "new RecordHeader(0, RecordHeader.MovedKind",
            "new RecordHeader(0, RecordHeader.PaddingKind",
            "growth"),
        new("the record of the move takes space", Writer,
            "        _tail += RecordHeader.SizeBytes;\n        _start",
            "        _start",
            "growth"),
        new("the writer goes on in the second ring", Writer,
            "Use(_own.SecondData, _own.SecondCapacity)",
            "Use(_data, _capacity)",
            "growth"),
        new("the first record after the move is in the second ring", Writer,
            "byte* place = _own.SecondData",
            "byte* place = _data",
            "growth"),
        new("what is read of the second ring is free again", Writer,
            "_tail - Math.Max(_head, _start)",
            "_tail - _start",
            "growth, second ring full"),
        new("the head does not move back", Writer, "head < _head || ", "", "hostile head"),
        new("the head is within what is published", Writer, "head > _publishedTail || ", "", "hostile head"),
        new("the head is a multiple of 16", Writer, " || (head & 15) != 0", "", "hostile head"),
        new(
            "the head is read once", Writer,
            "        _head = head;",
            "        _head = SharedMemoryOrder.ReadAcquire(ref *_peerHeadWord);",
            "hostile head"),
    ];

    private static IEnumerable<Mutant> ReaderRules =>
    [
        new(
            "the tail is checked after arming", Reader,
            "        return !HasData;",
            "        return true;",
            "armed for another"),
        new(
            "a loop that is parked for space counts as parked", Reader,
            "(parked & ParkedWord.WakeMethodsMask) == 0",
            "(parked & 1) == 0",
            "space, loops"),
        new(
            "disarming", Reader,
            "WriteRelease(ref *_parkedForDataWord, 0)",
            "ReadAcquire(ref *_parkedForDataWord)",
            "data"),
        new("the head is stored", Reader, "SharedMemoryOrder.WriteFenced(ref *_headWord, _head);", "", "space"),
        new(
            "the parked writer is woken", Reader,
            "        _lastWakeWord = parked;\n        return ParkedWord.WakeMethodsOf(parked);",
            "        return WakeMethods.None;",
            "space"),
        new(
            "a wake for each parked value of the writer", Reader,
            "parked == _lastWakeWord",
            "_lastWakeWord != 0",
            "space, twice"),
        new("the reader goes on in the second ring", Reader,
            "Use(_peer.SecondData, _peer.SecondCapacity)",
            "Use(_data, _capacity)",
            "growth"),
        new("the record of the move is read", Reader,
            "        _head += RecordHeader.SizeBytes;\n        Use",
            "        Use",
            "growth"),
        new(
            "the released space is what was read", Reader,
            "        _head = _next;",
            "        _head = _next + 16;",
            "data"),
    ];

    private static IEnumerable<Mutant> ReaderChecks =>
    [
        new("the tail does not move back", Reader, "tail < _tail || ", "", "hostile tail and records"),
        new("the tail is within the ring", Reader, "available > _mostAvailable || ", "", "hostile tail and records"),
        new("a writer moves once", Reader, "        _canMove = false;\n", "", "hostile move"),
        new("the tail is within the second ring", Reader,
            "if (_tail - _head > _capacity)",
            "if (false)",
            "hostile move"),
        new("the bound of the tail is that of the second ring", Reader,
            "        _mostAvailable = _capacity;\n",
            "",
            "hostile move"),
        new("a writer without a second ring does not move", Reader,
            "!_canMove || !isBare",
            "!isBare",
            "hostile tail and records"),
        new("the tail is a multiple of 16", Reader, " || (tail & 15) != 0", "", "hostile tail and records"),
        new(
            "the tail is read once", Reader,
            "        _tail = tail;",
            "        _tail = SharedMemoryOrder.ReadAcquire(ref *_peerTailWord);",
            "hostile tail and records"),
        new("a record ends before the tail", Reader, "length > _tail - _head || ", "", "hostile tail and records"),
        new("a record ends within the ring", Reader, " || length > _capacity - index", "", "hostile padding"),
        new(
            "a record is not too large", Reader,
            "header.PayloadLength > _maxPayload",
            "header.PayloadLength > uint.MaxValue - 1",
            "hostile tail and records"),
        new(
            "the header is read once", Reader,
            "+ RecordHeader.SizeBytes, (int)header.PayloadLength);\n                return true;",
            "+ RecordHeader.SizeBytes, (int)ReadHeader(_data + index).PayloadLength);\n                return true;",
            "hostile tail and records"),
        new(
            "padding reaches the end of the ring", Reader,
            "length != _capacity - index || ",
            "",
            "hostile tail and records"),
        new("no padding at the start of the ring", Reader, " || index == 0)", ")", "hostile padding, whole ring"),
    ];

    private static IEnumerable<Mutant> LoopRules =>
    [
        new(
            "the head is published before arming", Receiver,
            "        WakeMethods forSpace = _ring.PublishHead();",
            "        var forSpace = WakeMethods.None;",
            "stream, space")
        {
            Limit = (
                "RingLimits.cs",
                "LazyHeadBytes(long capacity) => capacity / 8",
                "LazyHeadBytes(long capacity) => capacity"),
        },
        new(
            "a released record wakes the writer", Receiver,
            "        WakeMethods wakeMethods = _ring.Release();",
            "        WakeMethods wakeMethods = _ring.Release() & WakeMethods.None;",
            "stream, space"),
        new(
            "a published record wakes the reader", Sender,
            "wakeMethods |= _ring.Publish();",
            "wakeMethods = _ring.Publish() & WakeMethods.None;",
            "stream, data"),
        new(
            "the stream arms before it sleeps", Receiver,
            "if (TryArm(WakeMethods.Futex))",
            "if (!_ring.HasData)",
            "stream, data"),
        new("the stream disarms", Receiver, "        _ring.Disarm();\n", "", "stream, data"),
        new(
            "the stream unparks", Sender,
            "                _link.Leave();\n                Unpark();",
            "                _link.Leave();",
            "stream, space"),
        new(
            "the stream parks for space", Sender,
            "                head = Park(WakeMethods.Futex);",
            "                head = 0;",
            "stream, space"),
        new(
            "local events are sampled before the checks", Receiver,
            "_link.SleepForData(_ring.Position, localEvents)",
            "_link.SleepForData(_ring.Position, _link.LocalEvents)",
            "stream, close"),
        new(
            "a sleeper waits on the sample", Signal,
            "Value = localEventsSeen,",
            "Value = LocalEvents,",
            "stream, close"),
        new(
            "a local event is counted before the wake", Signal,
            "uint now = Interlocked.Increment(ref LocalEventsWord.Value);",
            "uint now = 1;",
            "stream, close"),
        new(
            "a local event wakes", Signal,
            "            LocalEventsWord.Wake();\n",
            "",
            "stream, close"),
        new(
            "the peer's end is read before the ring", Receiver,
            "        bool isPeerGone = _link.SealIfPeerGone();\n        count = CopyAvailable(buffer);",
            "        count = CopyAvailable(buffer);\n        bool isPeerGone = _link.SealIfPeerGone();",
            "stream, writer dies"),
    ];
}
