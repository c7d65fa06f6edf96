namespace RpcOverShm.FunctionalTests.Support;

/// <summary>Expected failures of calls.</summary>
internal static class CallFailure
{
    /// <summary>Returns the exception of a call; a success or any other exception fails the test.</summary>
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

    /// <summary>Writes until the writer has learned of the call's end; returns the failure of that write.</summary>
    public static Task<RpcException> OfWritesAsync(IClientStreamWriter<Payload> requests)
    {
        return OfAsync(WriteOnAsync());

        async Task WriteOnAsync()
        {
            while (true)
            {
                await requests.WriteAsync(Payloads.Of("too late"));
            }
        }
    }

    /// <summary>Returns the exception of a blocking call, made on its own thread.</summary>
    public static Task<RpcException> OfBlocking(Action call) => OfAsync(Timeouts.OnThread(call));

    /// <summary>Returns code and detail only, because the debug exception differs between transports.</summary>
    public static Status Plain(this Status status) => new(status.StatusCode, status.Detail);
}
