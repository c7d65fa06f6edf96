namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Methods of all shapes that wait until their call is cancelled or the test releases them. A released method returns
/// its request, or an empty response.
/// </summary>
internal sealed class HeldMethods
{
    private readonly TaskCompletionSource _began = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _cancelled = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _begun;
    private int _ended;

    public HeldMethods() => Script = Script.Everywhere(HoldAsync);

    public Script Script { get; }

    /// <summary>Completes when the first method has begun.</summary>
    public Task Began => _began.Task;

    /// <summary>The number of methods that have begun.</summary>
    public int Begun => Volatile.Read(ref _begun);

    /// <summary>The number of methods that have returned or thrown.</summary>
    public int Ended => Volatile.Read(ref _ended);

    /// <summary>Completes when the token of a method has fired.</summary>
    public Task Cancelled => _cancelled.Task;

    /// <summary>Lets all methods succeed, including later ones.</summary>
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
