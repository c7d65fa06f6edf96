namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The product's byte stream, <see cref="ShmStream"/>, with the same messages as the pipe.</summary>
internal sealed class RawStreamArm : ByteStreamArm
{
    public override string Name => "raw-stream";

    public override Task<string> ServeAsync(string place)
    {
        string address = "shm://" + place;
        var listener = new ShmStreamListener(address);
        listener.Start();
        AcceptForever(async () => await listener.AcceptAsync());
        return Task.FromResult(address);
    }

    protected override async Task<Stream> ConnectAsync(string place, CallerKind caller) =>
        await ShmStream.ConnectAsync(place);
}
