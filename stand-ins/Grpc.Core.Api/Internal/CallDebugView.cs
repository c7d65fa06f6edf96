namespace Grpc.Core.Internal;

/// <summary>The part of a debugger's view that all calls have in common.</summary>
internal abstract class CallDebugView
{
    private readonly CallCallbacks _callbacks;

    protected CallDebugView(in CallCallbacks callbacks)
    {
        _callbacks = callbacks;
    }

    public bool IsComplete => Status is not null;

    public Status? Status => CallDebugInfo.TryGetStatus(_callbacks);

    public Metadata? ResponseHeaders => ResultOrDefault(_callbacks.ResponseHeaders);

    public Metadata? Trailers => CallDebugInfo.TryGetTrailers(_callbacks);

    public MethodDebugView? Method =>
        CallDebugInfo.FindMethod(_callbacks) is { } method ? new MethodDebugView(method) : null;

    public ChannelBase? Channel => CallDebugInfo.FindChannel(_callbacks);

    protected object? FindRequest() => CallDebugInfo.FindRequest(_callbacks);

    // A debugger must not wait for a task that is still running.
    protected static T? ResultOrDefault<T>(Task<T> task) => task.IsCompletedSuccessfully ? task.Result : default;
}
