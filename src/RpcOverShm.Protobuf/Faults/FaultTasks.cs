using Grpc.Core;

namespace RpcOverShm.Protobuf.Faults;

/// <summary>Converts the failures of the tasks of a client's call. Stateless.</summary>
internal static class FaultTasks
{
    /// <summary>Returns a task that fails with the typed exception, if there is one.</summary>
    public static Task<T> Convert<T>(Task<T> task, ShmFaults faults) =>
        task.IsCompletedSuccessfully ? task : ConvertAsync(task, faults);

    /// <summary>Returns a task that fails with the typed exception, if there is one.</summary>
    public static Task Convert(Task task, ShmFaults faults) =>
        task.IsCompletedSuccessfully ? task : ConvertAsync(task, faults);

    /// <summary>Marks the exception of a task as observed: the user may check the call's status only.</summary>
    public static Task<T> Observed<T>(Task<T> task)
    {
        if (task.IsCompleted)
        {
            _ = task.Exception;
        }
        else
        {
            task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(() => _ = task.Exception);
        }

        return task;
    }

    private static async Task<T> ConvertAsync<T>(Task<T> task, ShmFaults faults)
    {
        try
        {
            return await task.ConfigureAwait(false);
        }
        catch (RpcException failure) when (faults.ToException(failure) is { } typed)
        {
            throw typed;
        }
    }

    private static async Task ConvertAsync(Task task, ShmFaults faults)
    {
        try
        {
            await task.ConfigureAwait(false);
        }
        catch (RpcException failure) when (faults.ToException(failure) is { } typed)
        {
            throw typed;
        }
    }
}

/// <summary>Reads a response stream whose failures are converted.</summary>
internal sealed class FaultReader<T>(IAsyncStreamReader<T> inner, ShmFaults faults) : IAsyncStreamReader<T>
{
    public T Current => inner.Current;

    public Task<bool> MoveNext(CancellationToken cancellationToken) =>
        FaultTasks.Convert(inner.MoveNext(cancellationToken), faults);
}

/// <summary>Writes a request stream whose failures are converted.</summary>
internal sealed class FaultWriter<T>(IClientStreamWriter<T> inner, ShmFaults faults) : IClientStreamWriter<T>
{
    public WriteOptions? WriteOptions
    {
        get => inner.WriteOptions;
        set => inner.WriteOptions = value;
    }

    public Task WriteAsync(T message) => FaultTasks.Convert(inner.WriteAsync(message), faults);

    public Task WriteAsync(T message, CancellationToken cancellationToken) =>
        FaultTasks.Convert(inner.WriteAsync(message, cancellationToken), faults);

    public Task CompleteAsync() => FaultTasks.Convert(inner.CompleteAsync(), faults);
}
