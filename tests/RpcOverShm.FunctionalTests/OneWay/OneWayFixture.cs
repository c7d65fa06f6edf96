using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.OneWay;

/// <summary>
/// The base of fixtures whose clients make one-way calls. A method named "hold" waits until the test releases it, one
/// named "wait" until its token fires; "fail" throws. Each test has a fixture of its own: the methods of an earlier one
/// may still be ending.
/// </summary>
internal abstract class OneWayFixture() : RigFixture(RigKind.Shm)
{
    protected const int MethodThrew = 301;
    protected const int OneWayCallFailed = 308;

    private readonly ConcurrentQueue<Failure> _failures = new();
    private readonly ConcurrentQueue<string> _begun = new();
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _ended;

    /// <summary>The texts of the requests whose methods have begun, in their order.</summary>
    protected string[] Begun => [.. _begun];

    /// <summary>The number of methods that have returned or thrown.</summary>
    protected int Ended => Volatile.Read(ref _ended);

    /// <summary>The calls of the one-way clients that have failed after they were sent.</summary>
    protected Failure[] Failures => [.. _failures];

    protected Script Script => new() { Unary = RunAsync };

    protected void Release() => _released.TrySetResult();

    protected Task<ShmRig> StartOneWayAsync(Action<ShmServerOptions>? change = null, RigOptions? options = null) =>
        StartOneWayAsync(Script, change, options);

    protected Task<ShmRig> StartOneWayAsync(
        Script script, Action<ShmServerOptions>? change = null, RigOptions? options = null) =>
        StartShmAsync(script, (options ?? RigOptions.AnySize) with { Server = change });

    protected ScriptClient OneWay(ShmRig rig) => OneWay(rig.ShmChannel);

    protected ScriptClient OneWay(ShmChannel channel) => new(channel.CreateOneWayInvoker(OnFailed));

    protected void OnFailed(IMethod method, Status status) => _failures.Enqueue(new Failure(method.FullName, status));

    protected async Task<Failure> WaitForFailureAsync()
    {
        await Timeouts.Eventually(() => !_failures.IsEmpty, "a failure is reported");
        return Failures.Single();
    }

    /// <summary>
    /// Makes calls of methods that hold until one of them waits for room. Returns those that were sent.
    /// </summary>
    protected static async Task<(int Sent, Task Waiting)> FillAsync(ScriptClient client)
    {
        await client.UnaryAsync(Payloads.Of("hold"));
        for (int sent = 1; ; sent++)
        {
            Task call = client.UnaryAsync(Payloads.Of("hold")).ResponseAsync;
            if (!call.IsCompleted)
            {
                return (sent, call);
            }

            await call;
        }
    }

    private async Task<Payload> RunAsync(Payload request, ServerCallContext context)
    {
        string text = request.Text();
        _begun.Enqueue(text);
        try
        {
            if (text == "fail")
            {
                throw new InvalidOperationException("The method fails.");
            }

            if (text.StartsWith("hold", StringComparison.Ordinal))
            {
                await _released.Task;
            }

            if (text == "wait")
            {
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            }

            return request;
        }
        finally
        {
            Interlocked.Increment(ref _ended);
        }
    }

    /// <summary>A failure, as the handler of an invoker is told.</summary>
    protected sealed record Failure(string Method, Status Status);
}
