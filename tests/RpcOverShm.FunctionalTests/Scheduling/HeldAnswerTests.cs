using System.Diagnostics;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>
/// Answers to a backlog of requests wait for a few more answers before the peer can see them: by counting, at the start
/// of each method, those that it can see.
/// </summary>
internal sealed class HeldAnswerTests() : RigFixture(RigKind.Shm)
{
    private const int Most = 16;
    private const int WarmUps = 300;
    private const int Attempts = 300;
    private const int StreamSlot = 1000;

    private static readonly PeerLimits s_limits =
        RawPeer.Generous with { RingCapacity = 1 << 20, CallWindow = PeerLimits.SmallestCallWindow };
    private static readonly TimeSpan s_slow = TimeSpan.FromMicroseconds(40);

    private readonly List<long> _tails = []; // the peer's view of the answers' ring as each method began
    private readonly Dictionary<int, uint> _generations = [];
    private TaskCompletionSource _mayEnd = null!;
    private RawPeer? _peer;
    private TimeSpan _duration;

    [Test]
    public async Task QuickMethods_HoldAtMostSixteenAnswers()
    {
        const int Calls = 200;
        await StartAsync(TimeSpan.Zero);
        bool isAnyHeld = false;

        // On a starved machine the methods may seem slow, and then no answer is held.
        for (int attempt = 0; attempt < Attempts && !isAnyHeld; attempt++)
        {
            int[] visible = await VisibleAtEachStartAsync(() => Write(Calls), Calls);
            int[] held = [.. visible.Select((seen, begun) => begun - seen)];
            Assert.That(held, Is.All.InRange(0, Most));
            isAnyHeld = held.Max() > 1;
        }

        Assert.That(isAnyHeld, "Else this test shows nothing.");
    }

    [Test]
    public async Task SlowMethods_HoldNoAnswer()
    {
        const int Calls = 50;
        await StartAsync(s_slow);

        int[] visible = await VisibleAtEachStartAsync(() => Write(Calls), Calls);

        Assert.That(visible, Is.EqualTo(Enumerable.Range(0, Calls)));
    }

    // Credit runs no code, so no method's duration counts.
    [TestCase(1, true)]
    [TestCase(40, false)]
    public async Task RecordsWithoutCode_HoldAnswersForSixteenOfThemAtMost(int records, bool mayHold)
    {
        const int Calls = 4;
        await StartAsync(TimeSpan.Zero);
        Begin(StreamSlot, FrameFlags.HasMessage | FrameFlags.HalfClose, ServerStreamHead);
        bool isAnyHeld = false;
        for (int attempt = 0; attempt < Attempts && !isAnyHeld; attempt++)
        {
            int[] visible = await VisibleAtEachStartAsync(
                () =>
                {
                    Write(Calls);
                    for (int i = 0; i < records; i++)
                    {
                        Put(FrameKind.Credit, StreamSlot, FrameFlags.None, [], argument: 1);
                    }

                    Write(1, firstSlot: Calls);
                },
                Calls + 1);
            isAnyHeld = visible[Calls] < Calls;
        }

        Assert.That(isAnyHeld, Is.EqualTo(mayHold));
        _mayEnd.SetResult();
        await _peer!.ReceiveAsync(FrameKind.End);
    }

    [TearDown]
    public void DisposePeer() => _peer?.Dispose();

    private async Task StartAsync(TimeSpan duration)
    {
        _duration = duration;
        _generations.Clear();
        _mayEnd = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var script = new Script { Unary = (_, _) => Run(), ServerStream = (_, _, _) => _mayEnd.Task };
        ShmRig rig = await StartShmAsync(script, new RigOptions { Scheduling = ShmSchedulingMode.Inline });
        _peer = await RawPeer.ConnectAsync(rig.Place, s_limits);
        for (int i = 0; i < WarmUps; i++)
        {
            await VisibleAtEachStartAsync(() => Write(1), 1);
        }
    }

    private Task<Payload> Run()
    {
        _tails.Add(_peer!.PeerTail);
        long begun = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(begun) < _duration)
        {
            Thread.SpinWait(10);
        }

        return Task.FromResult(Payloads.Empty);
    }

    /// <summary>Publishes requests together; returns the number of visible answers at the start of each.</summary>
    private async Task<int[]> VisibleAtEachStartAsync(Action write, int calls)
    {
        _tails.Clear();
        write();
        _peer!.Publish();
        var ends = new List<long>();
        while (ends.Count < calls)
        {
            await _peer.ReceiveAsync(FrameKind.End);
            ends.Add(_peer.Reader.Position);
        }

        return [.. _tails.Select(tail => ends.Count(end => end <= tail))];
    }

    private void Write(int calls, int firstSlot = 0)
    {
        for (int i = 0; i < calls; i++)
        {
            Begin(firstSlot + i, FrameFlags.HasMessage | FrameFlags.HalfClose, UnaryHead);
        }
    }

    private void Begin(int slot, FrameFlags flags, byte[] head)
    {
        _generations[slot] = _generations.GetValueOrDefault(slot) + 1;
        Put(FrameKind.CallStart, slot, flags, head);
    }

    private void Put(FrameKind kind, int slot, FrameFlags flags, byte[] head, uint argument = 0) =>
        Assert.That(_peer!.TryWrite(new(kind, new CallId(slot, _generations[slot], false), flags, head, [], argument)));
}
