namespace RpcOverShm.Rings;

/// <summary>
/// Room for one record, handed out by <see cref="RingWriter.TryClaim"/>. Dropping it aborts the claim.
/// </summary>
internal readonly ref struct RingClaim(Span<byte> payload, long paddingBytes)
{
    /// <summary>Where the payload goes: memory that the peer can see but does not look at before the commit.</summary>
    public readonly Span<byte> Payload = payload;

    /// <summary>Bytes up to the end of the data that must be padded first; 0 for none.</summary>
    public readonly long PaddingBytes = paddingBytes;
}
