using RpcOverShm.Explorer.Model;

namespace RpcOverShm.Explorer.Mutations;

/// <summary>Every rule of the ring of a topic that a scenario must miss when it is left out.</summary>
internal static class MutantsOfTopics
{
    private const string Writer = "TopicWriter.cs";
    private const string Reader = "TopicReader.cs";
    private const string Parking = "TopicParking.cs";

    public static IEnumerable<Mutant> All => [.. Fences, .. WriterRules, .. ReaderRules, .. ReaderChecks, .. LinkRules];

    private static IEnumerable<Mutant> Fences =>
    [
        new(
            "full fence after the topic's tail", Writer,
            "WriteFenced(ref *_tailWord, _tail)",
            "WriteRelease(ref *_tailWord, _tail)",
            "topic, batches"),
        new(
            "full fence after a client's parked word", Parking,
            "WriteFenced(ref own.TopicParking, (++_times << 1) | 1)",
            "WriteRelease(ref own.TopicParking, (++_times << 1) | 1)",
            "topic, batches"),
        new(
            "fence between the oldest record and the data", Writer,
            "WriteFenced(ref *_oldestRecordWord, _oldest)",
            "WriteRelease(ref *_oldestRecordWord, _oldest)",
            "topic, lapped") { Order = StoreOrder.OutOfOrder },
        new(
            "release of the topic's tail", Writer,
            "WriteFenced(ref *_tailWord, _tail)",
            "WritePlain(ref *_tailWord, _tail)",
            "topic, batches") { Order = StoreOrder.OutOfOrder },
        new(
            "acquire of the topic's tail", Reader,
            "long tail = SharedMemoryOrder.ReadAcquire(",
            "long tail = SharedMemoryOrder.ReadPlain(",
            "topic, batches") { Order = StoreOrder.OutOfOrder },
        new(
            "the oldest record is loaded after the copy", Reader,
            "SharedMemoryOrder.Copy(",
            "SharedMemoryOrder.CopyPlain(",
            "topic, lapped"),
    ];

    private static IEnumerable<Mutant> WriterRules =>
    [
        new(
            "the newest record is stored before the tail", Writer,
            "        SharedMemoryOrder.WriteFenced(ref *_tailWord, _tail);",
            "        SharedMemoryOrder.WriteFenced(ref *_tailWord, _tail);\n"
                + "        SharedMemoryOrder.WriteRelease(ref *_newestRecordWord, _newest);",
            "topic, lapped")
        {
            Limit = (Writer, "SharedMemoryOrder.WriteRelease(ref *_newestRecordWord, _newest);\n\n", ";\n\n"),
        },
        new(
            "the oldest record moves before it is overwritten", Writer,
            "        SharedMemoryOrder.WriteFenced(ref *_oldestRecordWord, _oldest);",
            "        _ = _oldest;",
            "topic, lapped"),
        new(
            "the oldest record is the first one that stays", Writer,
            "_starts.FirstFrom(newTail - _capacity,",
            "_starts.FirstFrom(newTail - _capacity - 16,",
            "topic, lapped, batch"),
        new(
            "padding counts in a topic's ring", Writer,
            "            _tail += padding;\n",
            "",
            "topic, lapped, padding"),
        new(
            "a message leaves room for subscribers that wait", Writer,
            "EndOf((int)payload.Length) - minimumHead > _room",
            "EndOf((int)payload.Length) - minimumHead > _room + _capacity",
            "topic, full"),
        new(
            "the newest record is never older than the oldest", Writer,
            "if (_tail - _publishedTail >= _maxUnpublished)",
            "if (false)",
            "topic, lapped, large batch"),
        new("messages are numbered", Writer, "        _sequence++;\n", "", "topic, batches"),
    ];

    private static IEnumerable<Mutant> ReaderRules =>
    [
        new(
            "a second look after the copy", Reader,
            "        if (RefreshOldest())\n        {\n            return false;",
            "        if (false)\n        {\n            return false;",
            "topic, lapped"),
        new(
            "a look after the header", Reader,
            "            if (RefreshOldest())\n",
            "            if (false)\n",
            "topic, lapped"),
        new(
            "a lapped reader skips", Reader,
            "return oldest > _position;",
            "return oldest > _position + 32;",
            "topic, lapped"),
        new(
            "what is lost is counted", Reader,
            "return new TopicRecord(_length, _sequence, lost);",
            "return new TopicRecord(_length, _sequence, 0);",
            "topic, lapped"),
        new(
            "a skip does not go beyond the tail", Reader,
            "SkipTo(Math.Min(newest, _tail))",
            "SkipTo(newest)",
            "topic, lapped"),
        new(
            "padding is skipped", Reader,
            "                _position = _next;\n                continue;",
            "                continue;",
            "topic, lapped, padding"),
    ];

    private static IEnumerable<Mutant> ReaderChecks =>
    [
        new("the topic's tail does not move back", Reader, "tail < _tail || ", "", "topic, hostile publisher"),
        new("the topic's tail is a multiple of 16", Reader, " || (tail & 15) != 0", "", "topic, hostile publisher"),
        new("the oldest record does not move back", Reader, "oldest < _oldest || ", "", "topic, hostile publisher"),
        new("the oldest record is a multiple of 16", Reader, "(oldest & 15) != 0 || ", "", "topic, hostile publisher"),
        new(
            "the tail is within the topic's ring", Reader,
            " || _tail - oldest > _capacity)",
            ")",
            "topic, hostile publisher"),
        new(
            "the oldest record is not beyond the tail", Reader,
            "            if (oldest > _tail)",
            "            if (false)",
            "topic, hostile publisher"),
        new(
            "the oldest record is read once", Reader,
            "            _oldest = oldest;",
            "            _oldest = SharedMemoryOrder.ReadAcquire(ref *_oldestRecordWord);",
            "topic, hostile publisher laps"),
        new(
            "the topic's tail is read once", Reader,
            "        _tail = tail;",
            "        _tail = SharedMemoryOrder.ReadAcquire(ref *_tailWord);",
            "topic, hostile publisher"),
        new(
            "the newest record is not before the oldest", Reader,
            "newest < _oldest || ",
            "",
            "topic, hostile publisher laps"),
        new(
            "the newest record is a multiple of 16", Reader,
            " || (newest & 15) != 0",
            "",
            "topic, hostile publisher laps"),
        new("a topic's record ends before the tail", Reader,
            "length > _tail - _position || ", "", "topic, hostile publisher"),
        new("a topic's record is not too large", Reader,
            "header.PayloadLength > _maxPayload",
            "header.PayloadLength > uint.MaxValue - 1",
            "topic, hostile publisher laps"),
        new(
            "a topic's header is read once", Reader,
            "_length = (int)header.PayloadLength;",
            "_length = (int)ReadHeader(_data + (_position & (_capacity - 1))).PayloadLength;",
            "topic, hostile publisher"),
        new(
            "a topic's padding reaches the end of the ring", Reader,
            "(length != _capacity - index || index == 0)",
            "index == 0",
            "topic, hostile publisher"),
        new(
            "no message is missing without a skip", Reader,
            " || (lost != 0 && !_hasSkipped)",
            "",
            "topic, hostile publisher"),
        new("numbers do not go back", Reader, "_sequence < _expected || ", "", "topic, hostile publisher laps"),
    ];

    private static IEnumerable<Mutant> LinkRules =>
    [
        new(
            "a client disarms", Parking,
            "WriteRelease(ref own.TopicParking, _times << 1)",
            "ReadAcquire(ref own.TopicParking)",
            "topic, batches"),
        new(
            "a parked client is rung", Parking,
            "        _rung = word;\n        return true;",
            "        return false;",
            "topic, batches"),
        new(
            "each time that a client parks has a number", Parking,
            "(++_times << 1) | 1",
            "1",
            "topic, batches"),
    ];
}
