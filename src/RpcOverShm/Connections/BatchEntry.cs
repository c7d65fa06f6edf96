namespace RpcOverShm.Connections;

/// <summary>
/// One call of a batch on its way to the sender: where its head and message stand in the batch's bytes, and what became
/// of it. The message is part of the first frame, or is sent after it by whoever made the batch.
/// </summary>
internal struct BatchEntry
{
    public required ConnectionCall Call { get; init; }

    /// <summary>Where the head begins.</summary>
    public required int Offset { get; init; }

    public required int HeadLength { get; init; }

    /// <summary>The message stands behind the head; 0 bytes where it does not go with the first frame.</summary>
    public required int MessageLength { get; init; }

    /// <summary>True when the message goes with the first frame.</summary>
    public required bool IsWhole { get; init; }

    public StartOutcome Outcome { get; set; }
}
