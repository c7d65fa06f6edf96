using System.Collections.Concurrent;
using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Retries;

/// <summary>The request writer of an attempt. Each write completes when the test says so.</summary>
internal sealed class HeldWriter : IClientStreamWriter<SerializedMessage>
{
    private readonly ConcurrentQueue<int> _lengths = new();
    private readonly TaskCompletionSource _completed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private volatile TaskCompletionSource? _held;

    public WriteOptions? WriteOptions { get; set; }

    /// <summary>The lengths of the messages written so far, including the one whose write is pending.</summary>
    public IReadOnlyList<int> Lengths => [.. _lengths];

    /// <summary>Completes when no more requests follow.</summary>
    public Task Completed => _completed.Task;

    public Task WriteAsync(SerializedMessage message)
    {
        // Without RunContinuationsAsynchronously: when the test continues, the writer's continuation has run.
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

    /// <summary>Completes this many writes, one after the other.</summary>
    public async Task ReleaseAsync(int count)
    {
        for (int i = 0; i < count; i++)
        {
            (await TakeAsync()).SetResult();
        }
    }

    /// <summary>Fails the next write.</summary>
    public async Task FailAsync(Exception exception) => (await TakeAsync()).SetException(exception);

    /// <summary>Waits until a write is pending.</summary>
    public Task HoldAsync() => Timeouts.Eventually(() => _held is not null, "something is written");

    private async Task<TaskCompletionSource> TakeAsync()
    {
        await HoldAsync();
        TaskCompletionSource held = _held!;
        _held = null;
        return held;
    }
}
