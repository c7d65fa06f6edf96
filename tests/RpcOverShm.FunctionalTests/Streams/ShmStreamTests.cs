using System.Text;
namespace RpcOverShm.FunctionalTests.Streams;

/// <summary>The behaviour that users of named pipe streams expect.</summary>
[OneMode]
internal sealed class ShmStreamTests
{
    private const int Ring = 64 << 10;

    [Test]
    public async Task Read_ReturnsWhatIsThere([Values] bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync();
        byte[] buffer = new byte[100];

        await pair.Client.WriteAsync(new byte[] { 1, 2, 3 });
        int first = await ReadAsync(pair.Server, buffer, isBlocking);
        await pair.Client.WriteAsync(new byte[] { 4, 5 });
        await pair.Client.WriteAsync(new byte[] { 6 });
        int second = await ReadAsync(pair.Server, buffer.AsMemory(first), isBlocking);

        Assert.That(first, Is.EqualTo(3));
        Assert.That(second, Is.EqualTo(3), "two writes that are there are one read");
        Assert.That(buffer.Take(6), Is.EqualTo(new byte[] { 1, 2, 3, 4, 5, 6 }));
    }

    [Test]
    public async Task Read_OfLessThanWasWritten_LeavesTheRest()
    {
        await using StreamPair pair = await StreamPair.OpenAsync();
        byte[] buffer = new byte[2];

        await pair.Server.WriteAsync(new byte[] { 1, 2, 3, 4, 5 });

        Assert.That(await pair.Client.ReadAsync(buffer).Bounded(), Is.EqualTo(2));
        Assert.That(pair.Client.ReadByte(), Is.EqualTo(3));
        Assert.That(pair.Client.Read(buffer, 0, 2), Is.EqualTo(2));
        Assert.That(buffer, Is.EqualTo(new byte[] { 4, 5 }));
    }

    [Test]
    public async Task Read_BeforeAnythingWasWritten_Waits([Values] bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync();
        byte[] buffer = new byte[10];

        Task<int> read = ReadAsync(pair.Server, buffer, isBlocking);
        await Task.Delay(50);
        Assert.That(read.IsCompleted, Is.False);
        pair.Client.WriteByte(42);

        Assert.That(await read.Bounded(), Is.EqualTo(1));
        Assert.That(buffer[0], Is.EqualTo(42));
    }

    [Test]
    public async Task Read_AfterThePeersDispose_DrainsAndThenReturnsZero([Values] bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync();
        byte[] buffer = new byte[1000];

        await pair.Client.WriteAsync(new byte[300]);
        await pair.Client.DisposeAsync();

        Assert.That(await ReadAsync(pair.Server, buffer, isBlocking), Is.EqualTo(300));
        for (int i = 0; i < 3; i++)
        {
            Assert.That(await ReadAsync(pair.Server, buffer, isBlocking), Is.Zero);
        }
    }

    [Test]
    public async Task Read_ThatWaits_ReturnsZeroWhenThePeerDisposes([Values] bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync();

        Task<int> read = ReadAsync(pair.Server, new byte[10], isBlocking);
        await Task.Delay(20);
        await pair.Client.DisposeAsync();

        Assert.That(await read.Bounded(), Is.Zero);
    }

    [Test]
    public async Task Read_OfNothing_WaitsForDataAndTakesNone()
    {
        await using StreamPair pair = await StreamPair.OpenAsync();

        ValueTask<int> read = pair.Server.ReadAsync(Memory<byte>.Empty);
        Assert.That(read.IsCompleted, Is.False);
        await pair.Client.WriteAsync(new byte[] { 7 });

        Assert.That(await read.Bounded(), Is.Zero);
        Assert.That(pair.Server.ReadByte(), Is.EqualTo(7));
    }

    [Test]
    public async Task Write_ToAPeerThatHasDisposed_ThrowsIOException([Values] bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync();
        await pair.Server.DisposeAsync();

        Exception? exception = null;
        await Timeouts.Eventually(() =>
        {
            exception = CatchAsync(() => WriteAsync(pair.Client, new byte[10], isBlocking)).GetAwaiter().GetResult();
            return exception is not null;
        });

        Assert.That(exception, Is.InstanceOf<IOException>());
    }

    [Test]
    public async Task Write_IntoAFullRing_WaitsUntilThePeerReads([Values] bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync(Ring);
        byte[] data = new byte[3 * Ring];
        new BytePattern(1).Fill(data);

        Task write = WriteAsync(pair.Client, data, isBlocking);
        await Task.Delay(50);
        Assert.That(write.IsCompleted, Is.False);
        byte[] read = new byte[data.Length];
        await pair.Server.ReadExactlyAsync(read).Bounded();
        await write.Bounded();

        Assert.That(new BytePattern(1).CountWrong(read), Is.Zero);
    }

    [Test]
    public async Task Write_ThatWaits_FailsWhenThePeerDisposes([Values] bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync(Ring);

        Task write = WriteAsync(pair.Client, new byte[3 * Ring], isBlocking);
        await Task.Delay(20);
        await pair.Server.DisposeAsync();

        Assert.That(await CatchAsync(() => write), Is.InstanceOf<IOException>());
    }

    [Test]
    public async Task Dispose_WhileAReadAndAWriteWait_FailsBoth([Values] bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync(Ring);

        Task write = WriteAsync(pair.Client, new byte[3 * Ring], isBlocking);
        Task read = ReadAsync(pair.Client, new byte[10], isBlocking);
        await Task.Delay(20);
        await Timeouts.OnThread(pair.Client.Dispose).Bounded();

        Assert.That(
            await CatchAsync(() => write), Is.InstanceOf<ObjectDisposedException>().Or.InstanceOf<IOException>());
        Assert.That(
            await CatchAsync(() => read), Is.InstanceOf<ObjectDisposedException>().Or.InstanceOf<IOException>());
    }

    [Test]
    public async Task AfterDispose_EverythingThrows()
    {
        await using StreamPair pair = await StreamPair.OpenAsync();
        await pair.Client.DisposeAsync();
        pair.Client.Dispose();

        Assert.That(() => pair.Client.Read(new byte[1], 0, 1), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => pair.Client.Write(new byte[1], 0, 1), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => pair.Client.Flush(), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(async () => await pair.Client.ReadAsync(new byte[1]), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(async () => await pair.Client.WriteAsync(new byte[1]), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(pair.Client.CanRead || pair.Client.CanWrite, Is.False);
    }

    [Test]
    public async Task Capabilities_AreThoseOfADuplexPipe()
    {
        await using StreamPair pair = await StreamPair.OpenAsync();

        Assert.That(pair.Client.CanRead && pair.Client.CanWrite && !pair.Client.CanSeek);
        Assert.That(() => pair.Client.Length, Throws.TypeOf<NotSupportedException>());
        Assert.That(() => pair.Client.Position, Throws.TypeOf<NotSupportedException>());
        Assert.That(() => pair.Client.Seek(0, SeekOrigin.Begin), Throws.TypeOf<NotSupportedException>());
        Assert.That(() => pair.Client.SetLength(1), Throws.TypeOf<NotSupportedException>());
        Assert.That(() => pair.Client.Flush(), Throws.Nothing);
        Assert.That(pair.Client.PeerProcessId, Is.EqualTo(Environment.ProcessId));
    }

    [Test]
    public async Task Second_ReadOrWrite_AtATime_Throws()
    {
        await using StreamPair pair = await StreamPair.OpenAsync(Ring);
        byte[] buffer = new byte[10];

        ValueTask<int> read = pair.Server.ReadAsync(buffer);
        Exception? secondRead = await CatchAsync(() => pair.Server.ReadAsync(buffer).AsTask());
        Task write = pair.Server.WriteAsync(new byte[3 * Ring]).AsTask();
        Exception? secondWrite = await CatchAsync(() => pair.Server.WriteAsync(buffer).AsTask());
        Exception? blockingWrite = await CatchAsync(() => Timeouts.OnThread(() => pair.Server.Write(buffer)));

        Assert.That(secondRead, Is.InstanceOf<InvalidOperationException>());
        Assert.That(secondWrite, Is.InstanceOf<InvalidOperationException>());
        Assert.That(blockingWrite, Is.InstanceOf<InvalidOperationException>());
        pair.Client.WriteByte(1);
        Assert.That(await read.Bounded(), Is.EqualTo(1));
        await pair.Client.ReadExactlyAsync(new byte[3 * Ring]).Bounded();
        await write.Bounded();
    }

    [Test]
    public async Task ReadByItsToken_IsGivenUp_AndTheStreamLives([Values] bool isCancelledBefore)
    {
        await using StreamPair pair = await StreamPair.OpenAsync();
        byte[] buffer = new byte[10];
        for (int i = 0; i < 20; i++)
        {
            using var cancellation = new CancellationTokenSource();
            if (isCancelledBefore)
            {
                await cancellation.CancelAsync();
            }

            Task<int> read = pair.Server.ReadAsync(buffer, cancellation.Token).AsTask();
            await cancellation.CancelAsync();
            Assert.That(await CatchAsync(() => read), Is.InstanceOf<OperationCanceledException>());
        }

        await pair.Client.WriteAsync(new byte[] { 9 });
        Assert.That(await pair.Server.ReadAsync(buffer).Bounded(), Is.EqualTo(1));
        Assert.That(buffer[0], Is.EqualTo(9));
    }

    [Test]
    public async Task WriteByItsToken_IsGivenUp_AndTheStreamLives([Values] bool isCancelledBefore)
    {
        await using StreamPair pair = await StreamPair.OpenAsync(Ring);
        using var cancellation = new CancellationTokenSource();
        if (isCancelledBefore)
        {
            await cancellation.CancelAsync();
        }

        Task write = pair.Client.WriteAsync(new byte[3 * Ring], cancellation.Token).AsTask();
        Assert.That(write.IsCompleted, Is.EqualTo(isCancelledBefore));
        await cancellation.CancelAsync();
        Assert.That(await CatchAsync(() => write), Is.InstanceOf<OperationCanceledException>());
        Task<int> drain = DrainAsync(pair.Server);
        await pair.Client.WriteAsync(new byte[1234]).Bounded();
        await pair.Client.DisposeAsync();

        // A cancelled write leaves the bytes that are already in the ring.
        Assert.That(await drain.Bounded(), isCancelledBefore ? Is.EqualTo(1234) : Is.InRange(1234, 3 * Ring));
    }

    [Test]
    public async Task BothDirections_AtOnce_OnOneStream([Values] bool isBlocking)
    {
        const int Bytes = 20_000_000;
        await using StreamPair pair = await StreamPair.OpenAsync(Ring);

        long[] wrong = await Task.WhenAll(
            SendAsync(pair.Client, 1, Bytes, isBlocking),
            SendAsync(pair.Server, 2, Bytes, isBlocking),
            CheckAsync(pair.Client, 2, Bytes, isBlocking),
            CheckAsync(pair.Server, 1, Bytes, isBlocking)).Bounded();

        Assert.That(wrong, Is.All.Zero);
        Assert.That(pair.Client.Inside.LostWakeups + pair.Server.Inside.LostWakeups, Is.Zero);
    }

    [TestCase(300, false)]
    [TestCase(300, true)]
    [TestCase(3000, false, Category = LongAttribute.Name)]
    [TestCase(3000, true, Category = LongAttribute.Name)]
    public async Task PingPong_ManyTimes_LosesNoWakeUp(int rounds, bool isBlocking)
    {
        await using StreamPair pair = await StreamPair.OpenAsync();

        Task echo = Task.Run(async () =>
        {
            byte[] buffer = new byte[100];
            for (int i = 0; i < rounds; i++)
            {
                await ReadAsync(pair.Server, buffer.AsMemory(0, 1), isBlocking);
                await WriteAsync(pair.Server, buffer.AsMemory(0, 1), isBlocking);
            }
        });
        byte[] mine = new byte[1];
        for (int i = 0; i < rounds; i++)
        {
            mine[0] = (byte)i;
            await WriteAsync(pair.Client, mine, isBlocking);
            mine[0] = 0;
            await ReadAsync(pair.Client, mine, isBlocking).Bounded();
            Assert.That(mine[0], Is.EqualTo((byte)i));
        }

        await echo.Bounded();
        Assert.That(pair.Client.Inside.LostWakeups + pair.Server.Inside.LostWakeups, Is.Zero);
    }

    [Test]
    public async Task CopyTo_AndReaders_OfTheClassLibrary_Work()
    {
        await using StreamPair pair = await StreamPair.OpenAsync();

        Task writing = Task.Run(async () =>
        {
            await using var writer = new StreamWriter(pair.Client) { NewLine = "\n" };
            for (int i = 0; i < 10_000; i++)
            {
                await writer.WriteLineAsync($"line {i}");
            }
        });
        using var copy = new MemoryStream();
        await pair.Server.CopyToAsync(copy).Bounded();
        await writing.Bounded();
        string[] lines = Encoding.UTF8.GetString(copy.ToArray()).Split('\n', StringSplitOptions.RemoveEmptyEntries);

        Assert.That(lines, Is.EqualTo(Enumerable.Range(0, 10_000).Select(i => $"line {i}")));
    }

    private static Task<int> ReadAsync(Stream stream, Memory<byte> buffer, bool isBlocking) =>
        isBlocking ? Timeouts.OnThread(() => stream.Read(buffer.Span)) : stream.ReadAsync(buffer).AsTask();

    private static Task WriteAsync(Stream stream, ReadOnlyMemory<byte> bytes, bool isBlocking) =>
        isBlocking ? Timeouts.OnThread(() => stream.Write(bytes.Span)) : stream.WriteAsync(bytes).AsTask();

    private static async Task<Exception?> CatchAsync(Func<Task> action)
    {
        try
        {
            await action().Bounded();
            return null;
        }
        catch (Exception exception) when (exception is not TimeoutException)
        {
            return exception;
        }
    }

    private static async Task<int> DrainAsync(Stream stream)
    {
        byte[] buffer = new byte[10_000];
        int total = 0;
        while (await stream.ReadAsync(buffer) is > 0 and int read)
        {
            total += read;
        }

        return total;
    }

    // Odd sizes, so that records and the ring's end fall at varying positions.
    private static Task<long> SendAsync(Stream stream, ulong seed, int bytes, bool isBlocking) => Task.Run(async () =>
    {
        var pattern = new BytePattern(seed);
        var random = new Random((int)seed);
        byte[] piece = new byte[50_000];
        for (int left = bytes; left > 0;)
        {
            int length = Math.Min(left, random.Next(1, piece.Length));
            pattern.Fill(piece.AsSpan(0, length));
            await PassAsync(stream, piece.AsMemory(0, length), isBlocking);
            left -= length;
        }

        return 0L;
    });

    private static Task PassAsync(Stream stream, ReadOnlyMemory<byte> bytes, bool isBlocking)
    {
        if (!isBlocking)
        {
            return stream.WriteAsync(bytes).AsTask();
        }

        stream.Write(bytes.Span);
        return Task.CompletedTask;
    }

    private static Task<long> CheckAsync(Stream stream, ulong seed, int bytes, bool isBlocking) => Task.Run(async () =>
    {
        var pattern = new BytePattern(seed);
        byte[] piece = new byte[70_000];
        long wrong = 0;
        for (int left = bytes; left > 0;)
        {
            Memory<byte> part = piece.AsMemory(0, Math.Min(left, piece.Length));
            int read = isBlocking ? stream.Read(part.Span) : await stream.ReadAsync(part);
            if (read == 0)
            {
                return left;
            }

            wrong += pattern.CountWrong(part.Span[..read]);
            left -= read;
        }

        return wrong;
    });
}
