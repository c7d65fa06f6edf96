using System.Diagnostics;
using System.Globalization;
using RpcOverShm.FunctionalTests.Hostile;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>
/// A process that dies and leaves a child with its sockets: they stay open, so only the exit of the process tells the
/// other side.
/// </summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[OneMode]
[LinuxOnly("A child process holds the sockets of its parent.")]
internal sealed class PeerExitTests : PeerFixture
{
    private const int HeldCalls = 100;

    private readonly List<Process> _children = [];

    [TearDown]
    public void EndChildren()
    {
        foreach (Process child in _children)
        {
            child.Kill();
            child.Dispose();
        }
    }

    [Test]
    public async Task Client_ThatLeavesAChild_IsGoneWithItsCalls(
        [Values("blocking", "async", "client-stream", "server-stream", "duplex")] string shape)
    {
        var held = new HeldMethods();
        ShmServer server = await ServeAsync(held.Script);
        PeerProcess peer = await StartCallingPeerAsync();
        await peer.DoAsync($"hold {shape}");
        await held.Began.Bounded();
        Process child = await LeaveChildAsync(peer);

        peer.Kill();
        await held.Cancelled.Bounded();
        await Timeouts.Eventually(() => server.Running!.Connections.Count == 0);

        Assert.That(child.HasExited, Is.False);
    }

    [Test]
    [Category("Attack")]
    [Long(
        "The attack measures newcomers for seconds, up to three times.",
        "PeerExitTests.Client_ThatLeavesAChild_IsGoneWithItsCalls")]
    public async Task Client_ThatLeavesAChild_HoldsNobodyUp()
    {
        int held = 0;
        await ServeAsync(new Script
        {
            Duplex = async (_, _, context) =>
            {
                Interlocked.Increment(ref held);
                try
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }
                finally
                {
                    Interlocked.Decrement(ref held);
                }
            },
        });
        var meter = new FrontDoorMeter(Address, options => options.Connect.RuntimeDirectory = Directory.Option);

        await meter.AssertHarmlessAsync(async (stands, over) =>
        {
            PeerProcess peer = await StartCallingPeerAsync();
            for (int i = 0; i < HeldCalls; i++)
            {
                await peer.DoAsync("hold duplex");
            }

            await Timeouts.Eventually(() => Volatile.Read(ref held) == HeldCalls);
            Process child = await LeaveChildAsync(peer);
            stands();
            peer.Kill();
            await Timeouts.Eventually(() => Volatile.Read(ref held) == 0, "its calls are gone while others are served");
            Assert.That(child.HasExited, Is.False);
            await over;
        });
    }

    [Test]
    public async Task Server_ThatLeavesAChild_IsGoneWithItsCalls([Values] bool isBlocking)
    {
        PeerProcess peer = await StartServingPeerAsync();
        ScriptClient client = OpenClient();
        Task call = isBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Of("hold")))
            : client.UnaryAsync(Payloads.Of("hold")).ResponseAsync;
        await peer.NextEventAsync();
        Process child = await LeaveChildAsync(peer);

        peer.Kill();
        RpcException failure = await CallFailure.OfAsync(call);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(failure.Status.Detail, Does.Contain($"process {peer.Id}"));
        Assert.That(child.HasExited, Is.False);
    }

    [Test]
    public async Task Stream_WhoseEndLeavesAChild_IsDrainedAndThenThrows()
    {
        (PeerProcess peer, ShmStream stream) = await OpenStreamAsync();
        await using ShmStream atTheEnd = stream;
        await peer.DoAsync("stream-write 100000");
        Process child = await LeaveChildAsync(peer);

        peer.Kill();

        Assert.That(await StreamChecks.CountWrongAsync(stream, 100_000).Bounded(), Is.Zero);
        Assert.That(async () => await stream.ReadAsync(new byte[1]).Bounded(), Throws.InstanceOf<IOException>());
        Assert.That(child.HasExited, Is.False);
    }

    [Test]
    public async Task Process_WithManyConnections_HasOneDescriptorThatGoesWithTheLast()
    {
        const int Connections = 5;
        int before = CountProcessDescriptors();
        ShmServer server = await ServeAsync(new Script());
        PeerProcess peer = await StartPeerAsync();
        for (int i = 0; i < Connections; i++)
        {
            await peer.DoAsync($"channel {Address} {Directory.Word}");
            await peer.DoAsync("echo 1");
        }

        // An earlier test's descriptor may close meanwhile.
        Assert.That(server.Running!.Connections.Count, Is.EqualTo(Connections));
        Assert.That(CountProcessDescriptors(), Is.InRange(1, before + 1));

        peer.Kill();

        await Timeouts.Eventually(() => CountProcessDescriptors() == 0);
        await Timeouts.Eventually(() => server.Running!.Connections.Count == 0);
    }

    private static int CountProcessDescriptors() => ProcessResources.CountDescriptors("pidfd");

    private async Task<Process> LeaveChildAsync(PeerProcess peer)
    {
        var child = Process.GetProcessById(int.Parse(await peer.DoAsync("leave-child"), CultureInfo.InvariantCulture));
        _children.Add(child);
        return child;
    }
}
