using System.Buffers;
using RpcOverShm.Streams;

namespace RpcOverShm.Tests.Streams;

public class DuplexBytesTests : StreamFixture
{
    private const string LoopName = "RpcOverShm loop";

    private readonly byte[] _buffer = new byte[1000];

    [Test]
    public void Read_AfterAWrite_ReturnsWhatIsThere()
    {
        One.Write("hello"u8);

        Assert.That(Other.Read(_buffer), Is.EqualTo(5));
        Assert.That(_buffer[..5], Is.EqualTo("hello"u8.ToArray()));
    }

    [Test]
    public void Read_IntoLittleRoom_LeavesTheRest()
    {
        One.Write("hello"u8);

        Assert.That(Other.Read(_buffer.AsSpan(0, 2)), Is.EqualTo(2));
        Assert.That(Other.Read(_buffer.AsSpan(2, 1)), Is.EqualTo(1));
        Assert.That(Other.Read(_buffer.AsSpan(3)), Is.EqualTo(2));
        Assert.That(_buffer[..5], Is.EqualTo("hello"u8.ToArray()));
    }

    [Test]
    public void Read_AfterSeveralWrites_TakesThemTogether()
    {
        One.Write("hel"u8);
        One.Write([]);
        One.Write("lo"u8);

        Assert.That(Other.Read(_buffer), Is.EqualTo(5));
    }

    [Test]
    public void Read_BeforeAWrite_WaitsForIt()
    {
        int count = 0;
        TestThread reader = TestThread.Start("reader", () => count = Other.Read(_buffer));

        One.Write("x"u8);

        reader.Join();
        Assert.That(count, Is.EqualTo(1));
    }

    [Test]
    public async Task ReadAsync_BeforeAWrite_WaitsForItWithoutAThreadOfItsCaller()
    {
        ValueTask<int> read = Other.ReadAsync(_buffer, CancellationToken.None);
        Assert.That(read.IsCompleted, Is.False);

        await One.WriteAsync("xyz"u8.ToArray(), CancellationToken.None).Bounded();

        Assert.That(await read.Bounded(), Is.EqualTo(3));
    }

    [Test]
    public async Task ReadAsync_WithDataThere_IsCompletedAtOnce()
    {
        One.Write("xyz"u8);

        ValueTask<int> read = Other.ReadAsync(_buffer, CancellationToken.None);

        Assert.That(read.IsCompletedSuccessfully);
        Assert.That(await read, Is.EqualTo(3));
    }

    [TestCase(24L << 20, true)]
    [TestCase(12L << 20, false)]
    public async Task Bytes_BothWays_ArriveInOrder(long bytes, bool isBlocking)
    {
        await Task.WhenAll(
            Timeouts.OnThread(() => WriteAllAsync(One, bytes, seed: 1, isBlocking)).Unwrap(),
            Timeouts.OnThread(() => WriteAllAsync(Other, bytes, seed: 2, isBlocking)).Unwrap(),
            Timeouts.OnThread(() => ReadAllAsync(Other, bytes, seed: 1, isBlocking)).Unwrap(),
            Timeouts.OnThread(() => ReadAllAsync(One, bytes, seed: 2, isBlocking)).Unwrap()).Bounded();

        Assert.That((One.LostWakeups, Other.LostWakeups), Is.EqualTo((0L, 0L)));
    }

    [Test]
    public async Task PingPong_OfBothKinds_LosesNoWakeUp()
    {
        Task echo = Task.Run(() =>
        {
            byte[] bytes = new byte[16];
            int count;
            while ((count = Other.Read(bytes)) > 0)
            {
                Other.Write(bytes.AsSpan(0, count));
            }
        });
        for (int i = 0; i < 2000; i++)
        {
            One.Write([(byte)i]);
            int count = i % 2 == 0 ? One.Read(_buffer) : await One.ReadAsync(_buffer, CancellationToken.None).Bounded();
            Assert.That((count, _buffer[0]), Is.EqualTo((1, (byte)i)));
        }

        One.Close();
        await echo.Bounded();
        Assert.That((One.LostWakeups, Other.LostWakeups), Is.EqualTo((0L, 0L)));
    }

    [Test]
    public async Task Read_WhileAnotherIsUnderWay_IsRefused()
    {
        ValueTask<int> first = Other.ReadAsync(_buffer, CancellationToken.None);

        Assert.That(() => Other.Read(_buffer), Throws.InvalidOperationException);
        One.Write("x"u8);
        Assert.That(await first.Bounded(), Is.EqualTo(1));
        One.Write("y"u8);
        Assert.That(Other.Read(_buffer), Is.EqualTo(1), "The next is welcome.");
    }

    [Test]
    public async Task Write_WhileAnotherIsUnderWay_IsRefused()
    {
        ValueTask first = One.WriteAsync(new byte[200_000], CancellationToken.None);

        Assert.That(() => One.Write("x"u8), Throws.InvalidOperationException);
        await ReadAllAsync(Other, 200_000, seed: null, isBlocking: false).Bounded();
        await first.Bounded();
        Assert.That(() => One.Write("y"u8), Throws.Nothing);
    }

    [Test]
    public async Task ReadAsync_WhenCancelled_LosesNoByte()
    {
        for (int i = 0; i < 200; i++)
        {
            using var cancel = new CancellationTokenSource();
            ValueTask<int> read = Other.ReadAsync(_buffer, cancel.Token);
            Task cancelling = Task.Run(cancel.Cancel);
            bool isWritten = i % 2 == 0;
            if (isWritten)
            {
                One.Write([(byte)i]);
            }

            int count = await CountOrCancelledAsync(read);
            await cancelling;
            if (isWritten)
            {
                count = count > 0 ? count : await Other.ReadAsync(_buffer, CancellationToken.None).Bounded();
                Assert.That((count, _buffer[0]), Is.EqualTo((1, (byte)i)));
            }
        }
    }

    [Test]
    public async Task WriteAsync_WhenCancelled_EndsAndTheNextGoesOn()
    {
        using var cancel = new CancellationTokenSource();
        ValueTask write = One.WriteAsync(new byte[200_000], cancel.Token);

        await cancel.CancelAsync();
        Assert.That(async () => await write.Bounded(), Throws.InstanceOf<OperationCanceledException>());

        int inTheRing = 0;
        int count;
        while (inTheRing < 30_000 && (count = Other.Read(_buffer)) > 0)
        {
            inTheRing += count;
        }

        await One.WriteAsync("x"u8.ToArray(), CancellationToken.None).Bounded();
    }

    [Test]
    public async Task WriteAsync_OfMemoryThatFailsWhileItWaits_EndsAndTheNextGoesOn()
    {
        using var memory = new MemoryOfOneThread(200_000);
        ValueTask write = One.WriteAsync(memory.Memory, CancellationToken.None);

        Assert.That(async () => await write.Bounded(), Throws.InvalidOperationException.With.Message.EqualTo("gone"));

        ValueTask next = One.WriteAsync("x"u8.ToArray(), CancellationToken.None);
        Assert.That(Other.Read(new byte[200_000]), Is.Positive);
        await next.Bounded();
    }

    [Test]
    public void ReadAsync_WithACancelledToken_DoesNotBegin()
    {
        Assert.That(
            async () => await Other.ReadAsync(_buffer, new CancellationToken(true)),
            Throws.InstanceOf<OperationCanceledException>());
        One.Write("x"u8);
        Assert.That(Other.Read(_buffer), Is.EqualTo(1));
    }

    [Test]
    public async Task OpenAndClose_ManyTimes_NeedsNoThreadOfItsOwnAndLeavesNoMapping()
    {
        int mappings = ProcessResources.CountSegmentMappings();

        // The shared loops, and those of earlier tests, which stay for some seconds.
        int mostLoops = (2 * Math.Max(1, Environment.ProcessorCount / 2)) + ProcessResources.CountThreads(LoopName);
        for (int i = 0; i < 30; i++)
        {
            using var streams = new StreamPair();
            ValueTask<int> read = streams.Other.ReadAsync(_buffer, CancellationToken.None);
            await streams.One.WriteAsync("x"u8.ToArray(), CancellationToken.None).Bounded();
            await read.Bounded();
            Assert.That(ProcessResources.CountThreads(LoopName), Is.LessThanOrEqualTo(mostLoops));
        }

        Assert.That(() => ProcessResources.CountSegmentMappings(), Is.LessThanOrEqualTo(mappings).After(20_000, 10));
    }

    private static async Task<int> CountOrCancelledAsync(ValueTask<int> read)
    {
        try
        {
            return await read.Bounded();
        }
        catch (OperationCanceledException)
        {
            return 0;
        }
    }

    private static async Task WriteAllAsync(DuplexBytes stream, long bytes, ulong seed, bool isBlocking)
    {
        var pattern = new BytePattern(seed);
        var random = new Random((int)seed);
        byte[] buffer = new byte[100_000];
        for (long done = 0; done < bytes;)
        {
            int count = (int)Math.Min(1 + random.Next(buffer.Length), bytes - done);
            pattern.Fill(buffer.AsSpan(0, count));
            await stream.WriteAllAsync(buffer.AsMemory(0, count), isBlocking);
            done += count;
        }
    }

    private static async Task ReadAllAsync(DuplexBytes stream, long bytes, ulong? seed, bool isBlocking)
    {
        var pattern = new BytePattern(seed ?? 0);
        byte[] buffer = new byte[70_000];
        for (long done = 0; done < bytes;)
        {
            int count = await stream.ReadAsync(buffer, isBlocking);
            Assert.That(count, Is.Positive);
            if (seed is not null)
            {
                Assert.That(pattern.CountWrong(buffer.AsSpan(0, count)), Is.Zero, $"after {done} bytes");
            }

            done += count;
        }
    }

    /// <summary>Memory that only the thread that made it can use, as if its owner had taken it back.</summary>
    private sealed class MemoryOfOneThread(int length) : MemoryManager<byte>
    {
        private readonly byte[] _bytes = new byte[length];
        private readonly int _thread = Environment.CurrentManagedThreadId;

        // The default one asks for the span.
        public override Memory<byte> Memory => CreateMemory(_bytes.Length);

        public override Span<byte> GetSpan() => Environment.CurrentManagedThreadId == _thread
            ? _bytes
            : throw new InvalidOperationException("gone");

        public override MemoryHandle Pin(int elementIndex = 0) => throw new NotSupportedException();

        public override void Unpin()
        {
        }

        protected override void Dispose(bool disposing)
        {
        }
    }
}
