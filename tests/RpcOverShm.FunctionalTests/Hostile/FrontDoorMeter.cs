using System.Diagnostics;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Measures what an attack on a server does to others. Meanwhile an innocent client calls without a pause on a
/// connection that it has, and newcomers connect; both are measured without the attack before.
/// </summary>
/// <remarks>
/// The bounds are the promises: newcomers connect in less than 100 ms (median), and at most two calls of an existing
/// connection take 50 ms or more. On a slow machine that bound is longer: twice the third-slowest call without the
/// attack, or a quarter of the time that the server worked until the attack stood; a call that waited for the attack
/// would take all of it. An attack makes many calls slow, a pause of the collector or of the host a single one. Another
/// process may take the processor away, so an attack is repeated up to twice until a run keeps the bounds.
/// </remarks>
/// <param name="address">The address of the server, whose unary method echoes.</param>
/// <param name="change">Changes the options of the innocent client and of the newcomers.</param>
internal sealed class FrontDoorMeter(string address, Action<ShmChannelOptions>? change = null)
{
    private const int MostRuns = 3;
    private const int MostPauses = 2; // calls of a run that a pause of the collector or of the host may make slow
    private const int ShareOfAttack = 4;

    private static readonly TimeSpan s_warmUp = TimeSpan.FromSeconds(0.5);
    private static readonly TimeSpan s_length = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_betweenNewcomers = TimeSpan.FromMilliseconds(20);
    private static readonly TimeSpan s_mostForConnect = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan s_mostForCall = TimeSpan.FromMilliseconds(50);

    /// <summary>
    /// Asserts the bounds. The attack is given what it calls when it stands, when the time of the measurement begins,
    /// and a task that completes when that is over; the attack ends then.
    /// </summary>
    /// <remarks>
    /// An attack must not keep a thread of the pool: the server is in this process too, and the pool of a machine with
    /// two processors may have no other thread free, because the test host waits on one.
    /// </remarks>
    public Task AssertHarmlessAsync(Func<Action, Task, Task> attackAsync) =>
        AssertAsync(attackAsync, areNewcomersLate: false);

    /// <summary>
    /// Asserts the bounds for an attack that shuts newcomers out and ends by itself: the calls during the attack, and
    /// the newcomers after it.
    /// </summary>
    public Task AssertHarmlessOnceOverAsync(Func<Task> attackAsync) =>
        AssertAsync((_, _) => attackAsync(), areNewcomersLate: true);

    private static Task AttackNobody(Action stands, Task over)
    {
        stands();
        return over;
    }

    /// <summary>Calls until the time is over; returns the duration of the third-slowest call.</summary>
    private static TimeSpan CallUntil(Task over, ScriptClient innocent)
    {
        Payload request = Payloads.Of("innocent");
        var slowest = new PriorityQueue<TimeSpan, TimeSpan>();
        while (!over.IsCompleted)
        {
            long before = Stopwatch.GetTimestamp();
            Payload answer = innocent.Unary(request);
            TimeSpan took = Stopwatch.GetElapsedTime(before);
            Assert.That(answer, Is.EqualTo(request));
            slowest.Enqueue(took, took);
            if (slowest.Count > 1 + MostPauses)
            {
                slowest.Dequeue();
            }
        }

        return slowest.Peek();
    }

    private async Task AssertAsync(Func<Action, Task, Task> attackAsync, bool areNewcomersLate)
    {
        await using ShmChannel channel = Open();
        var innocent = new ScriptClient(channel.CreateCallInvoker());
        await innocent.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        await MeasureAsync(innocent, AttackNobody, s_warmUp, areNewcomersLate: false);

        TimeSpan mostForCall;
        Measured with;
        int runs = 0;
        do
        {
            Measured without = await MeasureAsync(innocent, AttackNobody, s_length, areNewcomersLate: false);
            with = await MeasureAsync(innocent, attackAsync, s_length, areNewcomersLate);
            mostForCall = new[] { s_mostForCall, 2 * without.SlowCall, with.Standing / ShareOfAttack }.Max();
            TestContext.Out.WriteLine($"Without the attack: {without}. With it: {with}.");
        }
        while (++runs < MostRuns && (with.MedianConnect >= s_mostForConnect || with.SlowCall >= mostForCall));

        Assert.That(with.MedianConnect, Is.LessThan(s_mostForConnect), "the newcomers");
        Assert.That(with.SlowCall, Is.LessThan(mostForCall), "the third-slowest call of an existing connection");
    }

    private async Task<Measured> MeasureAsync(
        ScriptClient innocent, Func<Action, Task, Task> attackAsync, TimeSpan length, bool areNewcomersLate)
    {
        long asked = Stopwatch.GetTimestamp();
        TimeSpan standing = default;
        var stands = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var over = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<TimeSpan> calling = Timeouts.OnThread(() => CallUntil(over.Task, innocent));
        var attacking = Task.Run(() => attackAsync(
            () =>
            {
                standing = Stopwatch.GetElapsedTime(asked);
                stands.TrySetResult();
            },
            over.Task));
        try
        {
            if (areNewcomersLate)
            {
                await attacking;
                over.SetResult();
            }

            List<TimeSpan> connects = await ConnectAsync(Task.WhenAny(stands.Task, attacking), length);
            over.TrySetResult();
            await attacking.Bounded();
            return new Measured(connects.Count, connects[connects.Count / 2], await calling.Bounded(), standing);
        }
        finally
        {
            over.TrySetResult();
            await Task.WhenAll(attacking, calling).Bounded().ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>
    /// Lets newcomers connect, one after the other, until the attack has stood for this time; returns the sorted times.
    /// </summary>
    private async Task<List<TimeSpan>> ConnectAsync(Task stands, TimeSpan length)
    {
        var connects = new List<TimeSpan>();
        using var timer = new PeriodicTimer(s_betweenNewcomers);
        long asked = Stopwatch.GetTimestamp();
        long? start = null;
        do
        {
            long before = Stopwatch.GetTimestamp();
            await using (ShmChannel newcomer = Open())
            {
                await newcomer.ConnectAsync().Bounded();
                connects.Add(Stopwatch.GetElapsedTime(before));
            }

            await timer.WaitForNextTickAsync();
            start ??= stands.IsCompleted ? Stopwatch.GetTimestamp() : null;
            Assert.That(Stopwatch.GetElapsedTime(start ?? asked), Is.LessThan(Timeouts.Wait), "the attack stands");
        }
        while (start is null || Stopwatch.GetElapsedTime(start.Value) < length);
        connects.Sort();
        return connects;
    }

    private ShmChannel Open()
    {
        var options = new ShmChannelOptions { Connect = { Timeout = Timeouts.Wait } };
        change?.Invoke(options);
        return ShmChannel.ForAddress(address, options);
    }

    private sealed record Measured(int Newcomers, TimeSpan MedianConnect, TimeSpan SlowCall, TimeSpan Standing)
    {
        public override string ToString() =>
            $"{Newcomers} newcomers, median {MedianConnect.TotalMilliseconds:0.0} ms, "
            + $"third-slowest call {SlowCall.TotalMilliseconds:0.0} ms, stood after {Standing.TotalMilliseconds:0} ms";
    }
}
