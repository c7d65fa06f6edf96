using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>
/// Threads that are interrupted in blocking calls. As in any wait of .NET, the thread gets
/// <see cref="ThreadInterruptedException"/>; its call is cancelled, and nobody else notices.
/// </summary>
internal sealed class InterruptedThreadTests() : RigFixture(RigKind.Shm)
{
    private const string Held = "held";

    [Test]
    public async Task Thread_InABlockingCall_IsInterrupted_AndTheCallIsCancelled([Values(1, 3)] int callers)
    {
        var begun = new CountdownEvent(callers);
        var cancelled = new CountdownEvent(callers);
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (request, context) => HoldAsync(request, context, begun, cancelled),
        });
        rig.Client.Unary(Payloads.Of("first"));
        var ends = new ConcurrentQueue<Exception?>();
        TestThread[] threads = [.. Enumerable.Range(0, callers).Select(i => TestThread.Start(
            $"caller {i}", () => ends.Enqueue(Thrown(() => rig.Client.Unary(Payloads.Of(Held))))))];
        Assert.That(await Timeouts.OnThread(() => begun.Wait(Timeouts.Wait)));

        Array.ForEach(threads, thread => thread.Interrupt());
        Array.ForEach(threads, thread => thread.Join());

        Assert.That(ends, Has.Exactly(callers).InstanceOf<ThreadInterruptedException>());
        Assert.That(await Timeouts.OnThread(() => cancelled.Wait(Timeouts.Wait)));
        Assert.That(rig.Client.Unary(Payloads.Of("after")).Text(), Is.EqualTo("after"));
    }

    [Test]
    public async Task Thread_ThatWaitsForAServer_IsInterrupted([Values] bool isOneWay)
    {
        ShmRig rig = await StartWithoutServerAsync(new RigOptions());
        ShmChannel channel = rig.OpenChannel();
        var client = new ScriptClient(isOneWay ? channel.CreateOneWayInvoker() : channel.CreateCallInvoker());
        Exception? end = null;
        var thread = TestThread.Start("caller", () => end = Thrown(
            () => client.Unary(Payloads.Empty, new CallOptions().WithWaitForReady())));
        thread.Interrupt();
        thread.Join();

        Assert.That(end, Is.InstanceOf<ThreadInterruptedException>());
    }

    // Their waits and locks are those of all threads that use the channel.
    [Test]
    public async Task ThreadsThatAreInterruptedAllTheTime_DisturbNobodyElse()
    {
        const int Interrupts = 1500;
        var mayEnd = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        ShmRig rig = await StartShmAsync(new Script
        {
            Duplex = EchoAsync,
            Unary = (request, context) => HoldUntilAsync(request, context, mayEnd.Task),
        });
        rig.Client.Unary(Payloads.Empty);
        bool isOver = false;
        int interrupted = 0;
        var wrong = new ConcurrentQueue<string>();
        TestThread[] victims = [.. Enumerable.Range(0, 3).Select(i => TestThread.Start($"victim {i}", () =>
        {
            for (int call = 0; !Volatile.Read(ref isOver); call++)
            {
                // An interrupt of a short wait takes effect in the next long one.
                bool isHeld = call % 16 == 15;
                if (Thrown(() => Call(rig.Client, isHeld ? Held : null, i, wrong)) is { } end)
                {
                    Interlocked.Increment(ref interrupted);
                    if (end is not ThreadInterruptedException)
                    {
                        wrong.Enqueue($"victim: {end}");
                    }
                }
            }
        }))];
        TestThread[] others = [.. Enumerable.Range(0, 2).Select(i => TestThread.Start($"other {i}", () =>
        {
            while (!Volatile.Read(ref isOver))
            {
                if (Thrown(() => Call(rig.Client, held: null, i, wrong)) is { } end)
                {
                    wrong.Enqueue($"other: {end}");
                }
            }
        }))];
        Task[] streams =
            [.. Enumerable.Range(0, 2).Select(_ => StreamAsync(rig.Client, () => Volatile.Read(ref isOver)))];

        await Timeouts.OnThread(() =>
        {
            for (int i = 0; i < Interrupts; i++)
            {
                victims[i % victims.Length].Interrupt();
                Thread.Sleep(1);
            }
        });
        Volatile.Write(ref isOver, value: true);
        mayEnd.SetResult();
        Array.ForEach([.. victims, .. others], thread => thread.Join());
        await Task.WhenAll(streams).Bounded();

        Assert.That(wrong, Is.Empty);
        Assert.That(interrupted, Is.Positive);
        Assert.That(rig.Client.Unary(Payloads.Of("after")).Text(), Is.EqualTo("after"));
    }

    // The user's own wait would be interrupted too, so this has none.
    private static void Call(ScriptClient client, string? held, int i, ConcurrentQueue<string> wrong)
    {
        Payload answer = client.Unary(held is null ? Payloads.OfSize(i * 3000) : Payloads.Of(held));
        if (held is null ? !answer.IsOfSize(i * 3000) : answer.Text() != held)
        {
            wrong.Enqueue("A wrong answer.");
        }
    }

    private static async Task EchoAsync(
        IAsyncStreamReader<Payload> requests, IServerStreamWriter<Payload> responses, ServerCallContext context)
    {
        while (await requests.MoveNext(CancellationToken.None))
        {
            await responses.WriteAsync(requests.Current);
        }
    }

    private static async Task StreamAsync(ScriptClient client, Func<bool> isOver)
    {
        using AsyncDuplexStreamingCall<Payload, Payload> call = client.Duplex();
        for (int i = 0; !isOver(); i = (i + 1) % 1000)
        {
            await call.RequestStream.WriteAsync(Payloads.OfSize(i));
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None));
            Assert.That(call.ResponseStream.Current.IsOfSize(i));
        }
    }

    private static async Task<Payload> HoldUntilAsync(Payload request, ServerCallContext context, Task mayEnd)
    {
        if (request.Text() == Held)
        {
            await Task.WhenAny(mayEnd, Task.Delay(Timeout.Infinite, context.CancellationToken));
        }

        return request;
    }

    private static async Task<Payload> HoldAsync(
        Payload request, ServerCallContext context, CountdownEvent begun, CountdownEvent cancelled)
    {
        if (request.Text() == Held)
        {
            begun.Signal();
            await Task.Delay(Timeout.Infinite, context.CancellationToken)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            cancelled.Signal();
        }

        return request;
    }

    private static Exception? Thrown(Action call)
    {
        try
        {
            call();
            return null;
        }
        catch (Exception exception)
        {
            return exception;
        }
    }
}
