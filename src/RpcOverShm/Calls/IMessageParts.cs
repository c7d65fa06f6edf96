namespace RpcOverShm.Calls;

/// <summary>Where the parts of a large message go while the rest of it is being serialised.</summary>
internal interface IMessageParts
{
    /// <summary>Sends as much of the next part as can go at once; never waits and never throws.</summary>
    /// <param name="part">The bytes behind those that were sent. The end of the message is never among them.</param>
    /// <param name="wholeLength">How long the whole message will be.</param>
    /// <returns>How many bytes were sent; the caller keeps the others.</returns>
    int SendPart(ReadOnlySpan<byte> part, int wholeLength);
}
