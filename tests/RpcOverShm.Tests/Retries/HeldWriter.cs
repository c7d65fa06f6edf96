using System.Collections.Concurrent;
using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Retries;

/// <summary>What an attempt is sent. Each write is done when the test says so, and not before.</summary>
internal sealed class HeldWriter : IClientStreamWriter<SerializedMessage>
{
    private readonly ConcurrentQueue<int> _lengths = new();
    private readonly TaskCompletionSource _completed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile TaskCompletionSource? _held;

    public WriteOptions? WriteOptions { get; set; }

    /// <summary>The lengths of the messages that were written so far, also of the one that is held.</summary>
    public IReadOnlyList<int> Lengths => [.. _lengths];

    /// <summary>Ends when no more requests follow.</summary>
    public Task Completed => _completed.Task;

    public Task WriteAsync(SerializedMessage message)
    {
        // Not of the kind that continues elsewhere: what follows has happened when the test is told.
        var held = new TaskCompletionSource();
        _lengths.Enqueue(message.Length);
        _held = held;
        return held.Task;
    }

    public Task CompleteAsync()
    {
        _completed.SetResult();
        return Task.CompletedTask;
    }

    /// <summary>Lets so many writes go, one after the other.</summary>
    public async Task ReleaseAsync(int count)
    {
        for (int i = 0; i < count; i++)
        {
            (await TakeAsync()).SetResult();
        }
    }

    /// <summary>The next write fails.</summary>
    public async Task FailAsync(Exception exception) => (await TakeAsync()).SetException(exception);

    /// <summary>Waits until a write is held.</summary>
    public Task HoldAsync() => Timeouts.Eventually(() => _held is not null, "something is written");

    private async Task<TaskCompletionSource> TakeAsync()
    {
        await HoldAsync();
        TaskCompletionSource held = _held!;
        _held = null;
        return held;
    }
}
