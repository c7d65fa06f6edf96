using System.Diagnostics;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Descriptors, mappings and threads after their connections have ended.</summary>
[OneMode]
internal sealed class LeakTests : PeerFixture
{
    [Test]
    public Task Streams_AfterTheirPeersWereKilled_LeaveNothing() => AssertLeavesNothingAsync(5, OneStreamAsync);

    [Test]
    public async Task Connections_OfOneProcess_LeaveNothing()
    {
        ShmServer server = await ServeAsync(new Script());
        await AssertLeavesNothingAsync(50, OneChannelAsync, server);
    }

    [Test]
    [LinuxOnly("It says what Linux has for a connection.")]
    public async Task Connection_HoldsASocketAMemoryFileAndTwoMappings_AndNoThread()
    {
        PeerProcess peer = await StartServingPeerAsync();
        await OneCallAsync();
        await ProcessFacts.NoneAsync();
        ProcessFacts before = await SettledAsync();

        await using ShmChannel channel = OpenChannel();
        new ScriptClient(channel.CreateCallInvoker()).Unary(Payloads.Empty);
        ProcessFacts with = ProcessFacts.OfSelf();

        // The memory file is the peer's, until its ring has grown.
        ProcessFacts expected = before with
        {
            Sockets = before.Sockets + 1,
            MemoryFiles = before.MemoryFiles + 1,
            Mappings = 2,
            Threads = 0,
        };
        Assert.That(with, Is.EqualTo(expected));

        // The peer may still be closing the first connection. The test's time limit ends this loop.
        while ((await peer.DoAsync("facts")).Split(' ')[1..] is not ["1", "2", "0"])
        {
            await Task.Yield();
        }

        async Task OneCallAsync()
        {
            await using ShmChannel first = OpenChannel();
            new ScriptClient(first.CreateCallInvoker()).Unary(Payloads.Empty);
        }
    }

    [Test]
    [LinuxOnly("It counts the descriptors of another program.")]
    public async Task ChildProcesses_InheritNothing()
    {
        await ServeAsync(new Script());
        ScriptClient client = OpenClient();
        client.Unary(Payloads.Empty);

        using Process child = Process.Start(new ProcessStartInfo("sleep", "60"))!;
        try
        {
            // The kernel renames a process in exec after it has closed the descriptors that are not inherited.
            await Timeouts.Eventually(() => ProcessResources.ThreadNames(child.Id) is ["sleep"]);
            ProcessFacts facts = ProcessFacts.Of(child.Id);
            Assert.That(facts, Is.EqualTo(new ProcessFacts(0, 0, 0, 0)));
        }
        finally
        {
            child.Kill();
        }
    }

    /// <summary>Asserts that repeats leave no more than the first time, after which the server has no client.</summary>
    private static async Task AssertLeavesNothingAsync(int times, Func<Task> act, ShmServer? server = null)
    {
        await act();
        await Timeouts.Eventually(() => server is null || server.Running!.Connections.Count == 0);
        ProcessFacts before = await SettledAsync();

        for (int i = 0; i < times; i++)
        {
            await act();
        }

        await ReturnsToAsync(before);
    }

    private static async Task<ProcessFacts> SettledAsync()
    {
        var facts = ProcessFacts.OfSelf();
        await Timeouts.Eventually(() =>
        {
            ProcessFacts last = facts;
            facts = ProcessFacts.OfSelf();
            return facts == last;
        });
        return facts;
    }

    private async Task OneStreamAsync()
    {
        (PeerProcess peer, ShmStream stream) = await OpenStreamAsync();
        await using ShmStream atTheEnd = stream;
        Task<int> read = stream.ReadAsync(new byte[1]).AsTask();
        peer.Kill();
        Assert.That(async () => await read.Bounded(), Throws.InstanceOf<IOException>());
        await EndAsync(peer);
    }

    private async Task OneChannelAsync()
    {
        await using ShmChannel channel = OpenChannel();
        var client = new ScriptClient(channel.CreateCallInvoker());
        client.Unary(Payloads.Empty);
        await client.UnaryAsync(Payloads.OfSize(300_000)).ResponseAsync.Bounded();
    }
}
