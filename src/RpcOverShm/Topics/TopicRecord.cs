namespace RpcOverShm.Topics;

/// <summary>A record that a reader has found: length and number are checked, the payload is not copied yet.</summary>
internal readonly struct TopicRecord(int length, long sequence, long lost)
{
    /// <summary>The kind of a record with a message of the topic.</summary>
    public const byte MessageKind = 1;

    /// <summary>The bytes of the payload.</summary>
    public readonly int Length = length;

    /// <summary>The number of the message.</summary>
    public readonly long Sequence = sequence;

    /// <summary>The messages between this record and the last one that was read; they are gone.</summary>
    public readonly long Lost = lost;
}

/// <summary>The outcome of a look at the next record.</summary>
internal enum TopicState
{
    /// <summary>Nothing yet.</summary>
    Empty,

    /// <summary>A message.</summary>
    Message,

    /// <summary>The publisher has overwritten what was to be read, or is about to.</summary>
    Lapped,
}
