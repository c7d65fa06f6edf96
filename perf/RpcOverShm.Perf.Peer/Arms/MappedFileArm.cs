namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A memory-mapped file with one guard word each way: the message is copied in, the word says that it is there, the
/// other side copies it out. What people write by hand.
/// </summary>
internal sealed class MappedFileArm : SpinningArm
{
    public override string Name => "mmap";

    protected override void Answer(MappedLines lines, long word)
    {
        ReadOnlySpan<byte> request = lines.Get();
        ServedTally.CountRequest(request);
        lines.Put(request);
        lines.Own = word;
    }

    protected override IEcho MakeEcho(MappedLines lines, Action<long> awaitWord) => new Echo(lines, awaitWord);

    private sealed class Echo(MappedLines lines, Action<long> awaitWord) : IEcho
    {
        private byte[] _request = [];
        private byte[] _reply = [];
        private long _word;

        public ReadOnlySpan<byte> Reply => _reply;

        public Memory<byte> Prepare(ExchangeSize size)
        {
            if (_request.Length != size.RequestBytes)
            {
                _request = new byte[size.RequestBytes];
                _reply = new byte[size.ReplyExpected];
            }

            return _request;
        }

        public void Call()
        {
            lines.Put(_request);
            lines.Own = ++_word;
            awaitWord(_word);
            lines.Get().CopyTo(_reply);
        }

        public ValueTask CallAsync() => throw new NotSupportedException();
    }
}
