namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// What all arms share whose two ends are byte streams: messages with a length before them, and loops on both sides
/// that either block or await. They differ in how a stream is come by.
/// </summary>
internal abstract class ByteStreamArm : IArm
{
    public abstract string Name { get; }

    public virtual bool Supports(LoadShape shape, CallerKind caller) => shape != LoadShape.Batch;

    public abstract Task<string> ServeAsync(string place);

    public IArmClient MakeClient(string place) => new Client(this, place);

    /// <summary>Connects to the server, which learns from the first byte what is wanted.</summary>
    protected abstract Task<Stream> ConnectAsync(string place, CallerKind caller);

    /// <summary>Accepts clients for as long as the process lives, and serves each on its own.</summary>
    protected void AcceptForever(Func<Task<Stream>> acceptAsync) => _ = Task.Run(async () =>
    {
        while (true)
        {
            _ = ServeStreamAsync(await acceptAsync());
        }
    });

    /// <summary>Serves one client until it is gone.</summary>
    protected virtual Task ServeStreamAsync(Stream stream) => ByteStreamServer.ServeAsync(stream);

    /// <summary>Makes the client's end of an echo.</summary>
    protected virtual IEcho MakeEcho(Stream stream) => new ByteStreamEcho(stream);

    private sealed class Client(ByteStreamArm arm, string place) : IArmClient
    {
        public async Task<IEcho> OpenEchoAsync(CallerKind caller) =>
            arm.MakeEcho(await OpenAsync(LoadShape.Echo, caller));

        public async Task<IDrain> OpenDrainAsync(CallerKind caller) =>
            new ByteStreamDrain(await OpenAsync(LoadShape.Drain, caller));

        public async Task<IPump> OpenPumpAsync(CallerKind caller) =>
            new ByteStreamPump(await OpenAsync(LoadShape.Pump, caller));

        private async Task<Stream> OpenAsync(LoadShape shape, CallerKind caller)
        {
            Stream stream = await arm.ConnectAsync(place, caller);
            await stream.WriteAsync(ByteStreamServer.Hello(shape, caller));
            return stream;
        }
    }
}
