using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// The response's metadata of one call, and the task of whoever asked for it before it came. Any thread may ask; the
/// holder of the reader role sets it, once.
/// </summary>
internal struct ResponseHeaders
{
    private object? _known; // the metadata, or the task source of whoever asked for it early

    public readonly bool HasCome => Volatile.Read(in _known) is Metadata;

    /// <summary>True while a task hangs on the metadata.</summary>
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

    /// <summary>The metadata has come.</summary>
    /// <param name="headers">The metadata.</param>
    /// <param name="isPrivate">True where no other thread can be asking.</param>
    public void Set(Metadata headers, bool isPrivate)
    {
        if (isPrivate)
        {
            Volatile.Write(ref _known, headers);
        }
        else if (Interlocked.Exchange(ref _known, headers) is TaskCompletionSource<Metadata> source)
        {
            source.TrySetResult(headers);
        }
    }

    /// <summary>The call has ended without: fails the task of whoever has asked.</summary>
    public readonly void Fail(Exception exception)
    {
        if (Volatile.Read(in _known) is TaskCompletionSource<Metadata> source)
        {
            source.TrySetException(exception);

            // Whoever never looks at the headers is not to be punished with an unobserved exception.
            _ = source.Task.Exception;
        }
    }
}
