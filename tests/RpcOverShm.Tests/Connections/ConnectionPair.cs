using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>Two connections in this process. The server answers each call with its own head and message.</summary>
internal sealed class ConnectionPair : IDisposable
{
    public ConnectionPair(uint maxCalls = 100, Action<RecordingCall, string>? onEvent = null)
    {
        Links = new LinkPair(maxCalls: maxCalls);
        Client = new Connection(Links.Client, SchedulingMode.Adaptive, accept: null, onGoAway: null);
        Server = new Connection(
            Links.Server,
            SchedulingMode.Adaptive,
            _ => new RecordingCall(isServed: true) { OnEvent = onEvent ?? Answer },
            onGoAway: null);
        Client.Start();
        Server.Start();
    }

    public Connection Client { get; }

    public Connection Server { get; }

    public LinkPair Links { get; }

    /// <summary>Runs a call on this thread and checks its answer.</summary>
    public void Run(byte mark)
    {
        var call = new RecordingCall(latch: AutoResetLatch.OfThisThread);
        call.Latch!.Clear();
        StartResult result = Client.RunCall(
            call, FrameFlags.HasMessage | FrameFlags.HalfClose, [mark], [mark, mark], largeMessage: null);
        Assert.That(result, Is.EqualTo(StartResult.Started));
        Assert.That(call.IsWaitOver);
        Assert.That(call.ReceivedMessage, Is.EqualTo((byte[])[mark, mark]), string.Join(", ", call.Events));
    }

    /// <summary>Starts an awaited call; the task completes with its answer.</summary>
    public Task<RecordingCall> RunAsync(byte mark)
    {
        var done = new TaskCompletionSource<RecordingCall>(TaskCreationOptions.RunContinuationsAsynchronously);
        var call = new RecordingCall { OnEvent = (call, _) => done.TrySetResult(call) };
        StartResult result = Client.StartCall(call, FrameFlags.HasMessage | FrameFlags.HalfClose, [mark], [mark]);
        return result == StartResult.Started
            ? done.Task
            : Task.FromException<RecordingCall>(new InvalidOperationException($"The call was not started: {result}."));
    }

    public void AssertNoLostWakeup() =>
        Assert.That((Client.LostWakeups, Server.LostWakeups), Is.EqualTo((0L, 0L)));

    public void Dispose()
    {
        var reason = new CloseReason(CloseKind.Local, "The test is over.");
        Client.Close(reason);
        Server.Close(reason);
        Assert.That(Task.WhenAll(Client.Closed, Server.Closed).Wait(Timeouts.Wait), "The connections end.");
        Links.Dispose();
    }

    private void Answer(RecordingCall call, string what)
    {
        if (what.StartsWith("start", StringComparison.Ordinal))
        {
            byte[] message = [.. call.ReceivedMessage];
            Server.Sender.Send(call, FrameKind.End, FrameFlags.HasMessage, call.LastHead, message);
        }
    }
}
