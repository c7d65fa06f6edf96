using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Tests.Connections;

/// <summary>
/// What large messages ask of the thread pool: the hops that somebody waits for, and no others. A thread of the pool
/// that was woken for nothing keeps looking for more, and so takes a processor from those who copy. Counted in this
/// process, which has little else for the pool.
/// </summary>
public class PoolHopTests
{
    private const int Calls = 100;
    private const int Bytes = 4 << 20;

    [Test]
    public async Task LargeUnaryCalls_ThatRunInline_LeaveThePoolAlone() =>
        Assert.That(await CountHopsAsync(ShmSchedulingMode.Inline), Is.LessThan(Calls / 2));

    // However many records a request has: its method begins when they are there.
    [Test]
    public async Task LargeUnaryCalls_ThatRunOnThePool_HopOnceEach() =>
        Assert.That(
            await CountHopsAsync(ShmSchedulingMode.ThreadPool, atLeast: Calls), Is.InRange(Calls, Calls * 3 / 2));

    /// <summary>Hops of both ends together. A hop is counted after its answer was sent.</summary>
    private static async Task<long> CountHopsAsync(ShmSchedulingMode mode, int atLeast = 0)
    {
        using var directory = new TestDirectory();
        string address = "shm://" + directory.Combine("hops.sock");
        await using var server = new ShmServer(
            address, new ShmServerOptions { Scheduling = mode, MaxReceiveMessageSize = null });
        server.Services.Add(Conformance.BindService(new ConformanceService()));
        await server.StartAsync();
        await using var channel = ShmChannel.ForAddress(
            address, new ShmChannelOptions { Scheduling = mode, MaxReceiveMessageSize = null });
        var client = new Conformance.ConformanceClient(channel);
        return await Timeouts.OnThread(() =>
        {
            client.Echo(Payloads.OfSize(Bytes));
            long before = ThreadPool.CompletedWorkItemCount;
            for (int i = 0; i < Calls; i++)
            {
                Assert.That(client.Echo(Payloads.OfSize(Bytes, (ulong)i)).IsOfSize(Bytes, (ulong)i));
            }

            SpinWait.SpinUntil(() => ThreadPool.CompletedWorkItemCount - before >= atLeast, Timeouts.Wait / 10);
            return ThreadPool.CompletedWorkItemCount - before;
        }).Bounded();
    }
}
