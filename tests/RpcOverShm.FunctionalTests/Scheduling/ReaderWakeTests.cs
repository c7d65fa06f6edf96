using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>Wake-ups of stream readers whose messages a raw server publishes together.</summary>
[TestFixture(ShmSchedulingMode.Adaptive)]
[TestFixture(ShmSchedulingMode.Inline)]
[TestFixture(ShmSchedulingMode.ThreadPool)]
internal sealed class ReaderWakeTests(ShmSchedulingMode mode) : RigFixture(RigKind.Shm)
{
    private readonly RigOptions _options = new() { Scheduling = mode };

    [Test]
    public async Task Readers_WhoseMessagesCameTogether_AreAllWokenThoughOneBlocks()
    {
        ShmRig rig = await StartWithoutServerAsync(_options);
        using var listener = new RawServer(rig.Place);
        using AsyncServerStreamingCall<Payload> one = rig.Client.ServerStream(Payloads.Empty);
        using RawPeer server = await listener.AcceptAsync();
        CallId first = (await server.ReceiveAsync(FrameKind.CallStart)).Call;
        using AsyncServerStreamingCall<Payload> other = rig.Client.ServerStream(Payloads.Empty);
        CallId second = (await server.ReceiveAsync(FrameKind.CallStart)).Call;
        using var otherCame = new ManualResetEventSlim();

        Task<bool> readOne = ReadAsync(one, () => otherCame.Wait(Timeouts.Wait));
        Task<bool> readOther = ReadAsync(other, () => { otherCame.Set(); return true; });
        Write(server, first, "one");
        Write(server, second, "other");
        server.Publish();

        Assert.That(await readOther.Bounded());
        Assert.That(await readOne.Bounded(), "The other reader was woken while this one blocked.");
        Assert.That(one.ResponseStream.Current.Text(), Is.EqualTo("one"));
        Assert.That(other.ResponseStream.Current.Text(), Is.EqualTo("other"));
    }

    [Test]
    public async Task Reader_WhoseMessagesCameTogether_SeesThemAllInOrder([Values(1, 2, 15, 16, 17, 100)] int count)
    {
        ShmRig rig = await StartWithoutServerAsync(_options);
        using var listener = new RawServer(rig.Place);
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        using RawPeer server = await listener.AcceptAsync();
        CallId id = (await server.ReceiveAsync(FrameKind.CallStart)).Call;

        Task<(List<Payload> Messages, int Waits)> reading = ReadAllAsync(call.ResponseStream);
        for (int i = 0; i < count; i++)
        {
            Write(server, id, $"{i}");
        }

        server.Publish();
        server.Send(FrameKind.End, id);

        (List<Payload> read, int waits) = await reading.Bounded();
        Assert.That(read.Select(message => message.Text()), Is.EqualTo(Enumerable.Range(0, count).Select(i => $"{i}")));

        // One wait for the first message, one per sixteen published together and one for the end, not one per message.
        Assert.That(waits, Is.LessThanOrEqualTo((count / 16) + 3));
    }

    private static async Task<bool> ReadAsync(AsyncServerStreamingCall<Payload> call, Func<bool> then) =>
        await call.ResponseStream.MoveNext(CancellationToken.None).ConfigureAwait(false) && then();

    private static async Task<(List<Payload> Messages, int Waits)> ReadAllAsync(IAsyncStreamReader<Payload> reader)
    {
        var messages = new List<Payload>();
        int waits = 0;
        while (true)
        {
            Task<bool> read = reader.MoveNext(CancellationToken.None);
            waits += read.IsCompleted ? 0 : 1;
            if (!await read.ConfigureAwait(false))
            {
                return (messages, waits);
            }

            messages.Add(reader.Current);
        }
    }

    private static void Write(RawPeer server, CallId call, string text)
    {
        byte[] message = Message(text);
        Assert.That(server.TryWrite(new(FrameKind.Message, call, 0, default, message, (uint)message.Length)));
    }
}
