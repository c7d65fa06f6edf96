namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The ceiling of a payload that is lent: one thread, in one process, checks the bytes of a request and copies them
/// into the answer, as the server of a lent payload does.
/// </summary>
internal sealed class MemoryEchoArm : IArm
{
    public string Name => "memory";

    public bool IsLocal => true;

    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place) => Task.FromResult(place);

    public IArmClient MakeClient(string place) => new Client();

    private sealed class Client : IArmClient
    {
        public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new Echo());
    }

    private sealed class Echo : ArrayEcho
    {
        private byte[] _reply = [];

        public override ReadOnlySpan<byte> Reply => _reply;

        public override Memory<byte> Prepare(ExchangeSize size)
        {
            _reply = _reply.Length == size.RequestBytes ? _reply : new byte[size.RequestBytes];
            return base.Prepare(size);
        }

        public override void Call()
        {
            ServedTally.CountRequest(Request);
            Request.CopyTo(_reply, 0);
        }
    }
}
