namespace RpcOverShm.Protocol;

/// <summary>The kind of a frame, with its value on the wire; 0 is never valid.</summary>
internal enum FrameKind : byte
{
    /// <summary>Starts a call. Payload: request head, then optionally the first message.</summary>
    CallStart = 1,

    /// <summary>Continues a head that did not fit into one record.</summary>
    HeadChunk = 2,

    /// <summary>Carries a message or its first part. Argument: the bytes of the whole message.</summary>
    Message = 3,

    /// <summary>Carries the next part of a message.</summary>
    MessageChunk = 4,

    /// <summary>Announces that the side that started the call sends no more messages.</summary>
    HalfClose = 5,

    /// <summary>Carries the response metadata, before the first message.</summary>
    Headers = 6,

    /// <summary>
    /// Ends a call; the last frame of the side that serves it. Payload: status trailer, then optionally a message.
    /// </summary>
    End = 7,

    /// <summary>Grants credit on a call. Argument: the bytes that may be sent in addition.</summary>
    Credit = 8,

    /// <summary>Cancels a call, from the side that started it. The other side still answers with an End.</summary>
    Cancel = 9,

    /// <summary>Refuses new calls on the connection, which closes when its calls have ended.</summary>
    GoAway = 10,

    /// <summary>Carries bytes of a byte stream.</summary>
    Bytes = 11,

    /// <summary>Announces that this side sends no more bytes.</summary>
    BytesEnd = 12,

    /// <summary>Announces that this side has mapped a data file. Argument: its number.</summary>
    FileMapped = 13,

    /// <summary>Announces that this side does not map a data file. Argument: its number.</summary>
    FileRefused = 14,

    /// <summary>Gives borrowed pieces back. Payload: one <see cref="ReturnedPiece"/> or more.</summary>
    Returned = 15,

    /// <summary>Asks for the borrowed pieces that the peer has disposed and not given back yet.</summary>
    ReturnsWanted = 16,

    /// <summary>
    /// The next messages of a response stream are those of a topic. Payload: a TopicReference.
    /// </summary>
    TopicStart = 17,

    /// <summary>
    /// The messages of a topic end at a position, and others may follow. Payload: the position, 8 bytes.
    /// </summary>
    TopicEnd = 18,

    /// <summary>A call has read a topic up to a position. Payload: the position, 8 bytes.</summary>
    TopicRead = 19,

    /// <summary>No call of this connection reads a topic any more. Argument: the number of its file.</summary>
    TopicDropped = 20,

    /// <summary>
    /// Names handles that came on the socket, for the next message of its direction. Payload: their number, 8 bytes.
    /// </summary>
    Handles = 21,
}
