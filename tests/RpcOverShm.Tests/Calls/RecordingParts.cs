using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Calls;

/// <summary>Takes parts of a message, as a connection with this much room does.</summary>
internal sealed class RecordingParts(int room) : IMessagePartSink
{
    private readonly List<byte> _bytes = [];
    private int _room = room;

    /// <summary>The sent bytes, in order.</summary>
    public byte[] Bytes => [.. _bytes];

    /// <summary>The number of attempts to send a part.</summary>
    public int Calls { get; private set; }

    public int WholeLength { get; private set; }

    public int SendPart(ReadOnlySpan<byte> part, int wholeLength)
    {
        Assert.That(Calls == 0 || wholeLength == WholeLength, "A message has one length.");
        Assert.That(_bytes.Count + part.Length, Is.LessThan(wholeLength), "The end is never sent as a part.");
        Calls++;
        WholeLength = wholeLength;
        int count = Math.Min(part.Length, _room);
        _room -= count;
        _bytes.AddRange(part[..count]);
        return count;
    }
}
