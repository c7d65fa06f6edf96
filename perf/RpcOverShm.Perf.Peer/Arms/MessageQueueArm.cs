namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>Two POSIX message queues, one each way, for one caller. Both sides block in the kernel.</summary>
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
        LinkEcho.StartServing(new Link(replies, requests), Name);
        return Task.FromResult($"{requests.Path} {replies.Path}");
    }

    public IArmClient MakeClient(string place)
    {
        string[] paths = place.Split(' ');
        return new Client(new Link(MessageQueue.Open(paths[0]), MessageQueue.Open(paths[1])));
    }

    private sealed class Client(Link link) : IArmClient
    {
        // A second caller would take answers of the first.
        public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new LinkEcho(link));
    }

    private sealed class Link(MessageQueue outward, MessageQueue inward) : IMessageLink
    {
        public ReadOnlySpan<byte> Received => inward.Received;

        public void Send(ReadOnlySpan<byte> message) => outward.Send(message);

        public void Receive() => inward.Receive();
    }
}
