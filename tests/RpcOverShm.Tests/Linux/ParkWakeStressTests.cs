using RpcOverShm.Linux;
using RpcOverShm.Rings;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Rings;

namespace RpcOverShm.Tests.Linux;

/// <summary>
/// Ring and signal together, as a connection uses them: a producer and a consumer sleep whenever they can, with random
/// delays around the moment of parking. A sleep that times out although there is data or space is a lost wake-up.
/// </summary>
[LinuxOnly("Futexes.")]
public class ParkWakeStressTests
{
    private const int Capacity = 4096;

    // Far longer than any wake-up takes, so that a timeout proves a lost wake-up.
    private static readonly TimeSpan s_longest = TimeSpan.FromSeconds(5);

    [TestCase("waitv", 5_000)]
    [TestCase("futex", 5_000)]
    [TestCase("polling", 200)]
    [TestCase("waitv", 40_000, Category = LongAttribute.Name)]
    [TestCase("futex", 40_000, Category = LongAttribute.Name)]
    [TestCase("polling", 1_500, Category = LongAttribute.Name)]
    public void ProducerAndConsumer_WithDelaysAtTheParkingWindow_LoseNoWakeUp(string implementation, int sleeps)
    {
        using var ring = new RingPair(Capacity);
        int seed = TestSeed.Next();
        var producer = new Side(ring, Create(implementation), new Random(seed), sleeps / 2);
        var consumer = new Side(ring, Create(implementation), new Random(seed + 1), sleeps);

        TestThread producing = TestThread.Start("producer", () => producer.Produce(consumer));
        TestThread consuming = TestThread.Start("consumer", consumer.Consume);
        producing.Join();
        consuming.Join();

        TestContext.Out.WriteLine(
            $"{consumer.Records} records, {consumer.Sleeps} sleeps for data, {producer.Sleeps} for space.");
        Assert.That((producer.LostWakeups, consumer.LostWakeups), Is.EqualTo((0, 0)));
        Assert.That(consumer.Records, Is.EqualTo(producer.Records));
        Assert.That(producer.Sleeps, Is.Positive);
    }

    private static Signal Create(string implementation) => implementation switch
    {
        "waitv" => new FutexSignal(FutexSignal.IsWaitvSupported),
        "futex" => new FutexSignal(useWaitv: false),
        _ => new PollingSignal(),
    };

    private sealed class Side(RingPair ring, Signal signal, Random random, int enoughSleeps)
    {
        private const byte LastKind = 2;

        private volatile int _sleeps;

        public int Sleeps => _sleeps;

        public int Records { get; private set; }

        public int LostWakeups { get; private set; }

        public void Produce(Side consumer)
        {
            byte[] payload = new byte[ring.MaxPayloadBytes];
            while (consumer.Sleeps < consumer.EnoughSleeps)
            {
                // Usually a few records and a pause, sometimes a burst that fills the ring.
                int burst = random.Next(64) == 0 ? 40 : 1 + random.Next(3);
                for (int i = 0; i < burst; i++)
                {
                    WriteOne(payload.AsSpan(0, random.Next(payload.Length)), kind: 1);
                }

                Delay();
            }

            WriteOne([], LastKind);
        }

        public int EnoughSleeps => enoughSleeps;

        public void Consume()
        {
            byte kind = 0;
            while (kind != LastKind)
            {
                uint localEvents = signal.LocalEvents;
                if (ring.Reader.TryRead(out RecordHeader header, out _))
                {
                    kind = header.Kind;
                    Records++;
                    WakeForSpace(ring.Reader.Release());
                    DelayAtTimes();
                    continue;
                }

                Delay();
                WakeForSpace(ring.Reader.PublishHead());
                SleepForData(localEvents);
            }
        }

        private void SleepForData(uint localEvents)
        {
            long position = ring.Reader.Position;
            if (ring.Reader.Arm(WakeMethods.Futex))
            {
                _sleeps++;
                DelayAtTimes();
                bool wasWoken = signal.Wait(ring.TailAsSeen, SharedWord.LowHalf(position), localEvents, s_longest);
                LostWakeups += !wasWoken && ring.Reader.HasData ? 1 : 0;
            }

            ring.Reader.Disarm();
        }

        private void WriteOne(ReadOnlySpan<byte> payload, byte kind)
        {
            while (!ring.TryWrite(payload, kind, isControl: kind == LastKind))
            {
                Publish();
                uint localEvents = signal.LocalEvents;
                if (ring.Writer.ParkForSpace(WakeMethods.Futex) is { } head)
                {
                    _sleeps++;
                    DelayAtTimes();
                    bool wasWoken = signal.Wait(ring.HeadAsSeen, SharedWord.LowHalf(head), localEvents, s_longest);
                    LostWakeups += !wasWoken && ring.Head != head ? 1 : 0;
                }

                ring.Writer.UnparkForSpace();
            }

            Records++;
            Publish();
        }

        private void Publish()
        {
            if (ring.Writer.Publish() == WakeMethods.Futex)
            {
                signal.Wake(new SharedWord(ref ring.Tail));
            }
        }

        private void WakeForSpace(WakeMethods wakeMethods)
        {
            if (wakeMethods == WakeMethods.Futex)
            {
                signal.Wake(new SharedWord(ref ring.Head));
            }
        }

        private void Delay() => Thread.SpinWait(random.Next(200));

        private void DelayAtTimes()
        {
            if (random.Next(4) == 0)
            {
                Delay();
            }
        }
    }
}
