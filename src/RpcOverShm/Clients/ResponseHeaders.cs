using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// The task for a call's response metadata, made when somebody asks for it. Completes with the first frame of the
/// answer, and fails with the call where none comes. Any thread may use it.
/// </summary>
internal sealed class ResponseHeaders
{
    private readonly Lock _gate = new();
    private Metadata? _headers;
    private RpcException? _failure;
    private TaskCompletionSource<Metadata>? _source;

    public Task<Metadata> GetAsync()
    {
        lock (_gate)
        {
            if (_headers is not null)
            {
                return Task.FromResult(_headers);
            }

            _source ??= new TaskCompletionSource<Metadata>(TaskCreationOptions.RunContinuationsAsynchronously);
            Settle();
            return _source.Task;
        }
    }

    /// <summary>The answer has begun, with these headers. Does nothing when it had begun or failed before.</summary>
    public void Set(Metadata headers)
    {
        lock (_gate)
        {
            if (_failure is null)
            {
                _headers ??= headers;
                Settle();
            }
        }
    }

    /// <summary>The call has failed before an answer began.</summary>
    public void Fail(RpcException failure)
    {
        lock (_gate)
        {
            if (_headers is null)
            {
                _failure ??= failure;
                Settle();
            }
        }
    }

    private void Settle()
    {
        if (_source is null)
        {
            return;
        }

        if (_headers is not null)
        {
            _source.TrySetResult(_headers);
        }
        else if (_failure is not null)
        {
            _source.TrySetException(_failure);

            // Whoever never looks at the headers is not to be punished with an unobserved exception.
            _ = _source.Task.Exception;
        }
    }
}
