namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>Two message queues of the kernel, one each way, for one caller. Both sides block in the kernel.</summary>
/// <param name="name">The name in every table.</param>
/// <param name="largestBytes">The largest message that the system allows.</param>
/// <param name="create">Makes a queue.</param>
/// <param name="open">Opens another process's queue by its <see cref="IKernelQueue.Place"/>.</param>
internal sealed class MessageQueueArm(
    string name, int largestBytes, Func<IKernelQueue> create, Func<string, IKernelQueue> open) : IArm
{
    public string Name => name;

    public int LargestBytes => largestBytes;

    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo && caller == CallerKind.Blocking;

    public Task<string> ServeAsync(string place)
    {
        IKernelQueue requests = create();
        IKernelQueue replies = create();
        LinkEcho.StartServing(new Link(replies, requests), Name);
        return Task.FromResult($"{requests.Place} {replies.Place}");
    }

    public IArmClient MakeClient(string place)
    {
        string[] places = place.Split(' ');
        return new Client(new Link(open(places[0]), open(places[1])));
    }

    private sealed class Client(Link link) : IArmClient
    {
        // A second caller would take answers of the first.
        public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult<IEcho>(new LinkEcho(link));
    }

    private sealed class Link(IKernelQueue outward, IKernelQueue inward) : IMessageLink
    {
        public ReadOnlySpan<byte> Received => inward.Received;

        public void Send(ReadOnlySpan<byte> message) => outward.Send(message);

        public void Receive() => inward.Receive();
    }
}

/// <summary>A message queue of the kernel. One thread at a time.</summary>
internal interface IKernelQueue
{
    /// <summary>The place where another process of this user opens the queue.</summary>
    string Place { get; }

    /// <summary>The message that was received last.</summary>
    ReadOnlySpan<byte> Received { get; }

    void Send(ReadOnlySpan<byte> message);

    /// <summary>Waits for a message and takes it.</summary>
    void Receive();
}
