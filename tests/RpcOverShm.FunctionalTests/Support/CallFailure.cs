namespace RpcOverShm.FunctionalTests.Support;

/// <summary>How a call that is to fail has failed.</summary>
internal static class CallFailure
{
    /// <summary>The exception of a call; a success is a failure of the test, as is any other exception.</summary>
    public static async Task<RpcException> OfAsync(Task call)
    {
        try
        {
            await call.Bounded();
        }
        catch (RpcException exception)
        {
            return exception;
        }

        throw new AssertionException("The call succeeded.");
    }

    /// <summary>The same for a call that blocks, made on a thread of its own.</summary>
    public static Task<RpcException> OfBlocking(Action call) => OfAsync(Timeouts.OnThread(call));

    /// <summary>Code and detail only: what the exception behind a status is differs between transports.</summary>
    public static Status Plain(this Status status) => new(status.StatusCode, status.Detail);
}
