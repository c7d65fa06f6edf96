using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Rings;

/// <summary>Random operations on a tiny ring and on its model, which must agree in all visible state.</summary>
public class RingModelTests
{
    private const int Operations = 200_000;

    [TestCase(256)]
    [TestCase(512)]
    [TestCase(1024)]
    [TestCase(4096)]
    public void RandomOperations_OnATinyRing_BehaveLikeAQueue(int capacity)
    {
        using var ring = new RingPair(capacity);
        var run = new Run(ring, new RingModel(capacity), TestSeed.NewRandom());

        for (int i = 0; i < Operations; i++)
        {
            run.Step();
        }

        TestContext.Out.WriteLine($"{run.Written} records written, {run.Full} times full, {run.Wakes} wakes.");
        Assert.That(run.Written, Is.GreaterThan(Operations / 10), "The run was not stuck.");
        Assert.That(run.Full, Is.Positive);
        Assert.That(run.Wakes, Is.Positive);
    }

    private sealed class Run(RingPair ring, RingModel model, Random random)
    {
        private long _seenHead;

        public int Written { get; private set; }

        public int Full { get; private set; }

        public int Wakes { get; private set; }

        public void Step()
        {
            switch (random.Next(16))
            {
                case < 5:
                    Write();
                    break;
                case < 8:
                    CountWake(ring.Writer.Publish(), model.Publish());
                    break;
                case < 12:
                    Read();
                    break;
                case 12:
                    CountWake(ring.Reader.PublishHead(), model.PublishHead());
                    break;
                case 13:
                    ArmOrDisarm();
                    break;
                case 14:
                    ParkOrUnpark();
                    break;
                default:
                    // A claim without a commit must have no effect.
                    ring.Writer.TryClaim(random.Next(ring.MaxPayloadBytes + 1), isControl: true, out _);
                    break;
            }

            CompareWords();
        }

        private void Write()
        {
            byte[] payload = new byte[random.Next(ring.MaxPayloadBytes + 1)];
            random.NextBytes(payload);
            byte kind = (byte)random.Next(RecordHeader.MovedKind);
            bool isControl = random.Next(4) == 0;

            bool isWritten = ring.TryWrite(payload, kind, isControl);

            Assert.That(isWritten, Is.EqualTo(model.TryAdd(payload, kind, isControl)));
            Written += isWritten ? 1 : 0;
            Full += isWritten ? 0 : 1;
        }

        private void Read()
        {
            bool isFound = ring.Reader.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload);

            Assert.That(isFound, Is.EqualTo(model.Next is not null));
            if (!isFound)
            {
                return;
            }

            RingModel.Record expected = model.Next!;
            model.Peek();
            Assert.That(header.Kind, Is.EqualTo(expected.Kind));
            Assert.That(payload.SequenceEqual(expected.Payload), "The payload is the one that was written.");
            Assert.That(ring.Reader.Current.SequenceEqual(expected.Payload));
            Assert.That(ring.Reader.Position, Is.EqualTo(expected.Start));

            // Sometimes without a release: the next read must find the record again.
            if (random.Next(8) != 0)
            {
                CountWake(ring.Reader.Release(), model.Release());
            }
        }

        private void ArmOrDisarm()
        {
            if (random.Next(2) == 0)
            {
                WakeMethods wakeMethods = AnyDoorbell();
                Assert.That(ring.Reader.Arm(wakeMethods), Is.EqualTo(model.Arm(wakeMethods)));
            }
            else
            {
                ring.Reader.Disarm();
                model.Disarm();
            }
        }

        private void ParkOrUnpark()
        {
            if (random.Next(2) != 0)
            {
                ring.Writer.UnparkForSpace();
                model.UnparkForSpace();
                return;
            }

            // The head that the writer saw last is private to it; the parked word shows it.
            WakeMethods wakeMethods = AnyDoorbell();
            long? head = ring.Writer.ParkForSpace(wakeMethods);
            long seen = SharedMemoryOrder.ReadAcquire(ref ring.ParkedForSpace) & ~15L;
            Assert.That(seen, Is.InRange(_seenHead, model.PublishedHead), "What was seen only grows.");
            Assert.That(head, Is.EqualTo(model.ParkForSpace(seen, wakeMethods) ? seen : null));
            _seenHead = seen;
        }

        private WakeMethods AnyDoorbell() => (WakeMethods)random.Next(1, 4);

        private void CountWake(WakeMethods wakeMethods, WakeMethods expected)
        {
            Assert.That(wakeMethods, Is.EqualTo(expected));
            Wakes += wakeMethods != WakeMethods.None ? 1 : 0;
        }

        private void CompareWords()
        {
            bool isSame = ring.Tail == model.PublishedTail
                && ring.Head == model.PublishedHead
                && ring.ParkedForData == model.ParkedForData
                && ring.ParkedForSpace == model.ParkedForSpace
                && ring.Reader.HasData == model.HasData;
            Assert.That(isSame, "Every word shows what the model says.");
        }
    }
}
