namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of an echo through a mapped file.</summary>
/// <param name="lines">The file.</param>
/// <param name="carriesMessages">False when only the words go there and back.</param>
/// <param name="awaitWord">Waits until the other side has written the word, having told it if that is needed.</param>
internal sealed class MappedEcho(MappedLines lines, bool carriesMessages, Action<long> awaitWord) : ArrayEcho
{
    private byte[] _reply = [];
    private long _word;

    public override ReadOnlySpan<byte> Reply => lines.Other != _word ? [] : carriesMessages ? _reply : Request;

    public override Memory<byte> Prepare(ExchangeSize size)
    {
        _reply = _reply.Length == size.ReplyExpected ? _reply : new byte[size.ReplyExpected];
        return base.Prepare(size);
    }

    public override void Call()
    {
        if (carriesMessages)
        {
            lines.Put(Request);
        }

        lines.Own = ++_word;
        awaitWord(_word);
        if (carriesMessages)
        {
            lines.Get().CopyTo(_reply);
        }
    }
}
