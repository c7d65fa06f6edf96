using System.Net.Sockets;
using System.Runtime.InteropServices;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>An event loop to which things happen in an unlucky order.</summary>
[NonParallelizable]
public class EventLoopRaceTests
{
    private const int WaitMilliseconds = 20_000;

    private readonly EventLoop _loop = new();
    private readonly List<FakeSource> _sources = [];

    [TearDown]
    public void RemoveAll()
    {
        _sources.ForEach(source => source.RemoveFrom(_loop));
        Eventually(() => _sources.TrueForAll(source => source.Entered == source.Left), "The loop keeps no source.");
        Assert.That(_sources.Select(source => source.WasRunTwiceAtOnce), Has.None.True);
        _sources.ForEach(source => source.Dispose());
        _sources.Clear();
    }

    // The loop's thread would run a source whose owner was told that no loop serves it.
    [Test]
    public void Request_OfASourceThatCannotBeAdded_DoesNotReachTheLoop()
    {
        const int Rounds = 100;
        FakeSource known = Add();
        Socket closed = SocketPair.NewSocket();
        SafeHandle handle = closed.SafeHandle;
        closed.Dispose();
        var refused = new List<FakeSource>();
        for (int i = 0; i < Rounds; i++)
        {
            var source = new FakeSource();
            refused.Add(source);
            bool isRefused = false;
            TestThread requests = TestThread.Start("requests", () =>
            {
                while (source.Loop is null && !Volatile.Read(ref isRefused))
                {
                    Thread.SpinWait(1);
                }

                source.Request();
            });

            Assert.That(_loop.TryAdd(source, handle), Is.Not.Null);
            Volatile.Write(ref isRefused, true);
            requests.Join();
            source.Dispose();
        }

        known.Request();
        Eventually(() => known.Runs == 1);
        Assert.That(refused.Select(source => source.Runs), Is.All.Zero);
        Assert.That(refused.Select(source => source.Loop), Is.All.Null);
    }

    private static void Eventually(Func<bool> condition, string? message = null) =>
        Assert.That(condition, Is.True.After(WaitMilliseconds, 1), message ?? "");

    private FakeSource Add()
    {
        var source = new FakeSource();
        _sources.Add(source);
        source.AddTo(_loop);
        return source;
    }
}
