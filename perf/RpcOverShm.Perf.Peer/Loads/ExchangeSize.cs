namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>The sizes of one call, each way.</summary>
/// <param name="RequestBytes">The request's payload.</param>
/// <param name="ReplyBytes">The answer's, or <see cref="LoadOrder.SameAsRequest"/>.</param>
internal readonly record struct ExchangeSize(int RequestBytes, int ReplyBytes)
{
    /// <summary>What the answer's size comes to.</summary>
    public int ReplyExpected => ReplyBytes == LoadOrder.SameAsRequest ? RequestBytes : ReplyBytes;
}
