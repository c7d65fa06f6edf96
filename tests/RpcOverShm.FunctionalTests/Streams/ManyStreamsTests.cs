namespace RpcOverShm.FunctionalTests.Streams;

/// <summary>Many streams of one process, all of which wait.</summary>
[OneMode]
internal sealed class ManyStreamsTests
{
    private const int Ring = 64 << 10;

    // A framework with a thread for each that waits would need two for each of them.
    private const int Streams = 250;

    // Event loops, two for each pair of processors, and a few others.
    private static readonly int s_mostThreadsMore = 8 + Environment.ProcessorCount;

    [Test]
    public async Task Streams_WithPendingReads_AndFullRings_NeedFewThreads()
    {
        using var directory = new TestDirectory();
        string address = directory.AddressOf("many");
        var options = new ShmStreamOptions
        {
            Connect = { RuntimeDirectory = directory.Option },
            Ring = { Capacity = Ring },
        };
        await using var listener = new ShmStreamListener(address, new ShmStreamListenerOptions
        {
            Listen = { RuntimeDirectory = directory.Option },
            Ring = { Capacity = Ring },
        });
        listener.Start();
        int before = Threads();
        List<ShmStream> streams = [];
        List<Task<int>> reads = [];
        List<Task> writes = [];
        try
        {
            for (int i = 0; i < Streams; i++)
            {
                Task<ShmStream> connecting = ShmStream.ConnectAsync(address, options);
                ShmStream server = await listener.AcceptAsync().Bounded();
                streams.AddRange(await connecting.Bounded(), server);
                reads.Add(server.ReadAsync(new byte[1]).AsTask());
                writes.Add(server.WriteAsync(new byte[2 * Ring]).AsTask());
            }

            Assert.That(reads.Concat(writes).Count(task => !task.IsCompleted), Is.EqualTo(2 * Streams));
            Assert.That(Threads() - before, Is.LessThanOrEqualTo(s_mostThreadsMore));

            for (int i = 0; i < Streams; i++)
            {
                ShmStream client = streams[2 * i];
                await client.WriteAsync(new byte[] { (byte)i });
                await client.ReadExactlyAsync(new byte[2 * Ring]).Bounded();
                await writes[i].Bounded();
                Assert.That(await reads[i].Bounded(), Is.EqualTo(1));
            }
        }
        finally
        {
            foreach (ShmStream stream in streams)
            {
                await stream.DisposeAsync();
            }
        }
    }

    private static int Threads() => ProcessResources.CountThreads("RpcOverShm");
}
