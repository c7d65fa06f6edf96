namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The floor of every round trip between two processors: one word there, one word back, both sides looking without
/// pause. The message stays at home, whatever its size.
/// </summary>
internal sealed class CacheLineArm : SpinningArm
{
    public override string Name => "cache-line";

    protected override void Answer(MappedLines lines, long word)
    {
        lines.Own = word;
        ServedTally.Count(wrongBytes: 0);
    }

    protected override IEcho MakeEcho(MappedLines lines, Action<long> awaitWord) => new Echo(lines, awaitWord);

    private sealed class Echo(MappedLines lines, Action<long> awaitWord) : IEcho
    {
        private byte[] _request = [];
        private long _word;

        public ReadOnlySpan<byte> Reply => lines.Other == _word ? _request : [];

        public Memory<byte> Prepare(ExchangeSize size)
        {
            _request = _request.Length == size.RequestBytes ? _request : new byte[size.RequestBytes];
            return _request;
        }

        public void Call()
        {
            lines.Own = ++_word;
            awaitWord(_word);
        }

        public ValueTask CallAsync() => throw new NotSupportedException();
    }
}
