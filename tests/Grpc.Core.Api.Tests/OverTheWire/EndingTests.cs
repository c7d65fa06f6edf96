using System.Net;
using System.Net.Sockets;
using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.OverTheWire;

/// <summary>Calls that are ended from outside: by a deadline, a token, disposal, or the want of a server.</summary>
public class EndingTests
{
    private readonly TaskCompletionSource _started = new();
    private readonly TaskCompletionSource _cancelled = new();

    [Test]
    public async Task Call_PastItsDeadline_FailsOnBothSides()
    {
        await using var rig = RigThatNeverAnswers();
        await rig.ConnectAsync();
        using var call = Call(rig, new CallOptions().WithDeadline(DateTime.UtcNow.AddSeconds(1)));

        var failure = await BoundedTasks.FailureOf(call.ResponseAsync);
        await _cancelled.Task.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    public async Task Deadline_OfCall_ReachesTheServer()
    {
        var deadline = DateTime.UtcNow.AddMinutes(5);
        var seen = DateTime.MaxValue;
        await using var rig = GrpcCoreRig.Start(builder => builder.AddMethod(
            TestMethods.Unary,
            (request, context) =>
            {
                seen = context.Deadline;
                return Task.FromResult(request);
            }));

        await Call(rig, new CallOptions(deadline: deadline)).Bounded();

        Assert.That(seen, Is.EqualTo(deadline).Within(TimeSpan.FromMinutes(1)));
        Assert.That(seen.Kind, Is.EqualTo(DateTimeKind.Utc));
    }

    [Test]
    public async Task Call_TokenCancelled_FailsOnBothSides()
    {
        using var source = new CancellationTokenSource();
        await using var rig = RigThatNeverAnswers();
        using var call = Call(rig, new CallOptions().WithCancellationToken(source.Token));
        await _started.Task.Bounded();

        await source.CancelAsync();

        var failure = await BoundedTasks.FailureOf(call.ResponseAsync);
        await _cancelled.Task.Bounded();
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Call_Disposed_FailsOnBothSides()
    {
        await using var rig = RigThatNeverAnswers();
        var call = Call(rig, new CallOptions());
        await _started.Task.Bounded();

        call.Dispose();

        var failure = await BoundedTasks.FailureOf(call.ResponseAsync);
        await _cancelled.Task.Bounded();
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Call_WithoutServer_IsUnavailableAtOnce()
    {
        using var port = new SilentPort();
        var channel = new Channel("127.0.0.1", port.Number, ChannelCredentials.Insecure);

        var failure = await BoundedTasks.FailureOf(Call(channel, new CallOptions()).ResponseAsync);
        await channel.ShutdownAsync().Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(failure.InnerException, Is.SameAs(failure.Status.DebugException).And.Not.Null);
    }

    [Test]
    public async Task Call_WithoutServerWaitingForReady_RunsIntoItsDeadline()
    {
        // What waits for ready is a flag in the call options that Grpc.Core reads through an internal member.
        using var port = new SilentPort();
        var channel = new Channel("127.0.0.1", port.Number, ChannelCredentials.Insecure);
        var options = new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(300)).WithWaitForReady();

        var failure = await BoundedTasks.FailureOf(Call(channel, options).ResponseAsync);
        await channel.ShutdownAsync().Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    private GrpcCoreRig RigThatNeverAnswers()
    {
        return GrpcCoreRig.Start(builder => builder.AddMethod(TestMethods.Unary, WaitForCancellation));
    }

    private async Task<string> WaitForCancellation(string request, ServerCallContext context)
    {
        using var registration = context.CancellationToken.Register(() => _cancelled.TrySetResult());
        _started.TrySetResult();
        await _cancelled.Task;
        return request;
    }

    private static AsyncUnaryCall<string> Call(GrpcCoreRig rig, CallOptions options) => Call(rig.Channel, options);

    private static AsyncUnaryCall<string> Call(ChannelBase channel, CallOptions options)
    {
        return channel.CreateCallInvoker().AsyncUnaryCall(TestMethods.Unary, null, options, "request");
    }

    /// <summary>A port that is taken but listens to nobody, so that connecting to it is refused.</summary>
    private sealed class SilentPort : IDisposable
    {
        private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

        internal SilentPort() => _socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));

        internal int Number => ((IPEndPoint)_socket.LocalEndPoint!).Port;

        public void Dispose() => _socket.Dispose();
    }
}
