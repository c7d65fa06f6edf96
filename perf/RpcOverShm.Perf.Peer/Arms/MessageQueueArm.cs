namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>Two message queues of POSIX, one each way, for one caller. Both sides block in the kernel.</summary>
internal sealed class MessageQueueArm : IArm
{
    public string Name => "posix-mq";

    public int LargestBytes => MessageQueue.LargestMessage;

    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place)
    {
        var requests = MessageQueue.Create();
        var replies = MessageQueue.Create();
        new Thread(() => Serve(requests, replies)) { IsBackground = true, Name = Name }.Start();
        return Task.FromResult($"{requests.Path} {replies.Path}");
    }

    public IArmClient MakeClient(string place)
    {
        string[] paths = place.Split(' ');
        return new Client(MessageQueue.Open(paths[0]), MessageQueue.Open(paths[1]));
    }

    private static void Serve(MessageQueue requests, MessageQueue replies)
    {
        var answer = new EchoAnswer();
        while (true)
        {
            requests.Receive();
            ServedTally.CountRequest(requests.Received);
            replies.Send(answer.TryMake(requests.Received, out Memory<byte> made) ? made.Span : requests.Received);
        }
    }

    private sealed class Client(MessageQueue requests, MessageQueue replies) : IArmClient
    {
        // A second caller would take answers of the first.
        public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new Echo(requests, replies));
    }

    private sealed class Echo(MessageQueue requests, MessageQueue replies) : IEcho
    {
        private byte[] _request = [];

        public ReadOnlySpan<byte> Reply => replies.Received;

        public Memory<byte> Prepare(ExchangeSize size) =>
            _request = _request.Length == size.RequestBytes ? _request : new byte[size.RequestBytes];

        public void Call()
        {
            requests.Send(_request);
            replies.Receive();
        }

        public ValueTask CallAsync() => throw new NotSupportedException();
    }
}
