using RpcOverShm.Testing.Protos;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Connections;

/// <summary>
/// The work items that large messages queue to the thread pool: only those that a caller waits for. A pool thread woken
/// for nothing keeps searching for work and takes a processor from the threads that copy. The count is that of this
/// process, which uses the pool for little else.
/// </summary>
public class PoolWorkItemTests
{
    private const int Calls = 100;
    private const int Bytes = 4 << 20;

    // On a busy machine, some calls wait so long that another thread reads for them: half of them were seen to.
    [Test]
    public async Task LargeUnaryCalls_ThatRunInline_LeaveThePoolAlone() =>
        Assert.That(await CountWorkItemsAsync(ShmSchedulingMode.Inline), Is.LessThan(Calls));

    // One work item per call, for any number of records: the method starts when the whole request is there. One for
    // each record would be 64 and more. On a busy machine a call that waits long has further ones, of its readers.
    [Test]
    public async Task LargeUnaryCalls_ThatRunOnThePool_QueueOneWorkItemEach() =>
        Assert.That(
            await CountWorkItemsAsync(ShmSchedulingMode.ThreadPool, atLeast: Calls), Is.InRange(Calls, Calls * 3));

    /// <summary>Counts the work items of both ends. An item is counted after its answer was sent.</summary>
    private static async Task<long> CountWorkItemsAsync(ShmSchedulingMode mode, int atLeast = 0)
    {
        using var place = new TestAddress();
        string address = place.Address.Text;
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
