namespace Grpc.Core.Internal;

/// <summary>
/// How a call object reaches its transport: either closures, or functions of a state object, which spare a transport
/// the allocation of closures. Each delegate is one of two types, and which one is found out when it is used.
/// </summary>
internal readonly struct CallCallbacks
{
    private readonly object _responseHeaders;
    private readonly Delegate _getStatus;
    private readonly Delegate _getTrailers;
    private readonly Delegate _dispose;

    internal CallCallbacks(
        Task<Metadata> responseHeaders,
        Func<Status> getStatus,
        Func<Metadata> getTrailers,
        Action dispose)
    {
        _responseHeaders = responseHeaders;
        _getStatus = getStatus;
        _getTrailers = getTrailers;
        _dispose = dispose;
    }

    internal CallCallbacks(
        Func<object, Task<Metadata>> responseHeaders,
        Func<object, Status> getStatus,
        Func<object, Metadata> getTrailers,
        Action<object> dispose,
        object state)
    {
        _responseHeaders = responseHeaders;
        _getStatus = getStatus;
        _getTrailers = getTrailers;
        _dispose = dispose;
        State = state;
    }

    /// <summary>Null for a call made of closures.</summary>
    internal object? State { get; }

    internal Task<Metadata> ResponseHeaders =>
        _responseHeaders is Func<object, Task<Metadata>> get ? get(State!) : (Task<Metadata>)_responseHeaders;

    internal Status GetStatus() =>
        _getStatus is Func<object, Status> get ? get(State!) : ((Func<Status>)_getStatus)();

    internal Metadata GetTrailers() =>
        _getTrailers is Func<object, Metadata> get ? get(State!) : ((Func<Metadata>)_getTrailers)();

    internal void Dispose()
    {
        if (_dispose is Action<object> dispose)
        {
            dispose(State!);
        }
        else
        {
            ((Action)_dispose)();
        }
    }
}
