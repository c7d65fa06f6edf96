namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The common part of all arms with byte streams as their two ends: messages with a length before them, and loops on
/// both sides that either block or await. They differ in how they get a stream.
/// </summary>
/// <param name="name">The arm's name, before that of the codec.</param>
/// <param name="codec">The serialiser of the messages; null for raw bytes.</param>
internal abstract class ByteStreamArm(string name, StreamCodec? codec = null) : IArm
{
    public string Name => codec is null ? name : $"{name}-{codec.Name}";

    public StreamCodec? Codec => codec;

    public virtual bool Supports(LoadShape shape, CallerKind caller) =>
        codec is null ? shape is not (LoadShape.Batch or LoadShape.Backlog) : shape == LoadShape.Echo;

    public abstract Task<string> ServeAsync(string place);

    public IArmClient MakeClient(string place) => new ByteStreamClient(this, place);

    public abstract Task<Stream> ConnectAsync(string place, CallerKind caller);

    /// <summary>
    /// Accepts clients for as long as the process lives, and serves each on its own until it is gone.
    /// </summary>
    protected void AcceptForever(Func<Task<Stream>> acceptAsync) => _ = Task.Run(async () =>
    {
        while (true)
        {
            Stream stream = await acceptAsync();
            _ = ByteStreamServer.ServeAsync(stream, codec?.MakeAnswer() ?? ByteStreamServer.RawAnswer());
        }
    });
}

/// <summary>The product's byte stream, <see cref="ShmStream"/>, with the same messages as the pipe.</summary>
internal sealed class RawStreamArm() : ByteStreamArm("raw-stream")
{
    public override Task<string> ServeAsync(string place)
    {
        string address = "shm://" + place;
        var listener = new ShmStreamListener(address);
        listener.Start();
        AcceptForever(async () => await listener.AcceptAsync());
        return Task.FromResult(address);
    }

    public override async Task<Stream> ConnectAsync(string place, CallerKind caller) =>
        await ShmStream.ConnectAsync(place);
}
