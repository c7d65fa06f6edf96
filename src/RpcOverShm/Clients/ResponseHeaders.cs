using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// The response headers of one call, and the task of callers that requested them before they arrived. Any thread may
/// request them; the holder of the reader role sets them once.
/// </summary>
internal struct ResponseHeaders
{
    private object? _known; // the metadata, or the task source of early callers

    public readonly bool IsSet => Volatile.Read(in _known) is Metadata;

    /// <summary>Whether a task waits for the metadata.</summary>
    public readonly bool IsAwaited => _known is TaskCompletionSource<Metadata>;

    public Task<Metadata> GetAsync()
    {
        object? known = Volatile.Read(ref _known);
        if (known is null)
        {
            var source = new TaskCompletionSource<Metadata>(TaskCreationOptions.RunContinuationsAsynchronously);
            known = Interlocked.CompareExchange(ref _known, source, null) ?? source;
        }

        return known is Metadata headers ? Task.FromResult(headers) : ((TaskCompletionSource<Metadata>)known).Task;
    }

    /// <summary>
    /// Sets the headers. If only the server can end the call, no other thread can request them at the same time.
    /// </summary>
    public void Set(Metadata headers, bool isEndedOnlyByServer)
    {
        if (isEndedOnlyByServer)
        {
            Volatile.Write(ref _known, headers);
        }
        else if (Interlocked.Exchange(ref _known, headers) is TaskCompletionSource<Metadata> source)
        {
            source.TrySetResult(headers);
        }
    }

    /// <summary>Fails the pending task of a call that has ended without metadata.</summary>
    public readonly void Fail(Exception exception)
    {
        if (Volatile.Read(in _known) is TaskCompletionSource<Metadata> source)
        {
            source.TrySetException(exception);

            // Marks the exception as observed: a user may never await the headers.
            _ = source.Task.Exception;
        }
    }
}
