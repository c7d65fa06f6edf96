namespace Grpc.Core.Api.Tests.OverTheWire;

/// <summary>Every wait of these tests has an end, so that a hang is a failure with a name.</summary>
internal static class BoundedTasks
{
    private static readonly TimeSpan s_bound = TimeSpan.FromSeconds(30);

    internal static Task Bounded(this Task task) => task.WaitAsync(s_bound);

    internal static Task<T> Bounded<T>(this Task<T> task) => task.WaitAsync(s_bound);

    internal static Task<T> Bounded<T>(this AsyncUnaryCall<T> call) => call.ResponseAsync.Bounded();

    internal static Task<T> Bounded<TRequest, T>(this AsyncClientStreamingCall<TRequest, T> call) =>
        call.ResponseAsync.Bounded();

    /// <summary>The exception with which a call fails; a success is a failure of the test.</summary>
    internal static async Task<RpcException> FailureOf(Task call)
    {
        try
        {
            await call.Bounded();
        }
        catch (RpcException e)
        {
            return e;
        }

        throw new AssertionException("The call succeeded.");
    }

    internal static async Task<List<T>> ReadAll<T>(this IAsyncStreamReader<T> reader)
        where T : class
    {
        var messages = new List<T>();
        while (await reader.MoveNext().Bounded())
        {
            messages.Add(reader.Current);
        }

        return messages;
    }
}
