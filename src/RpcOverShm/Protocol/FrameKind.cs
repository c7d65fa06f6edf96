namespace RpcOverShm.Protocol;

/// <summary>What a frame is. The numbers are on the wire; 0 is never valid.</summary>
internal enum FrameKind : byte
{
    /// <summary>Starts a call. Payload: request head, then the first message if there is one.</summary>
    CallStart = 1,

    /// <summary>The next part of a head that did not fit into one record.</summary>
    HeadChunk = 2,

    /// <summary>A message, or the first part of one. Argument: the bytes of the whole message.</summary>
    Message = 3,

    /// <summary>The next part of a message.</summary>
    MessageChunk = 4,

    /// <summary>No more messages from the side that started the call.</summary>
    HalfClose = 5,

    /// <summary>Response metadata ahead of the first message.</summary>
    Headers = 6,

    /// <summary>
    /// The last frame of a call from the side that serves it. Payload: status trailer, then a message if any.
    /// </summary>
    End = 7,

    /// <summary>Argument: so many more bytes of messages may be sent on this call.</summary>
    Credit = 8,

    /// <summary>The side that started the call has given it up. It is still answered by an End.</summary>
    Cancel = 9,

    /// <summary>No new calls on this connection; it is closed when those that live have ended.</summary>
    GoAway = 10,

    /// <summary>Bytes of a byte stream.</summary>
    Bytes = 11,

    /// <summary>No more bytes from this side.</summary>
    BytesEnd = 12,
}
