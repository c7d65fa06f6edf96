namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Methods of all shapes that begin, and then wait until their call is cancelled or the test lets them end. What a
/// method says when it is let go is its request, or nothing.
/// </summary>
internal sealed class HeldMethods
{
    private readonly TaskCompletionSource _began = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _cancelled = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _begun;
    private int _ended;

    public HeldMethods() => Script = new Script
    {
        Unary = async (request, context) =>
        {
            await HoldAsync(context);
            return request;
        },
        ClientStream = async (_, context) =>
        {
            await HoldAsync(context);
            return Payloads.Empty;
        },
        ServerStream = (_, _, context) => HoldAsync(context),
        Duplex = (_, _, context) => HoldAsync(context),
    };

    public Script Script { get; }

    /// <summary>Completes when the first method has begun.</summary>
    public Task Began => _began.Task;

    /// <summary>How many methods have begun.</summary>
    public int Begun => Volatile.Read(ref _begun);

    /// <summary>How many methods have ended, in whatever way.</summary>
    public int Ended => Volatile.Read(ref _ended);

    /// <summary>Completes when the token of a method has fired.</summary>
    public Task Cancelled => _cancelled.Task;

    /// <summary>Lets all methods end well, those that begin later at once.</summary>
    public void Release() => _released.TrySetResult();

    private async Task HoldAsync(ServerCallContext context)
    {
        Interlocked.Increment(ref _begun);
        _began.TrySetResult();
        try
        {
            await _released.Task.WaitAsync(context.CancellationToken);
        }
        catch (OperationCanceledException)
        {
            _cancelled.TrySetResult();
            throw;
        }
        finally
        {
            Interlocked.Increment(ref _ended);
        }
    }
}
