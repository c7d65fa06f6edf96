namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// An echo of messages with a form: each is made of its bytes before the clock starts, a fresh one for each call as in
/// a real program, and taken apart after the clock has stopped.
/// </summary>
internal sealed class MessageEcho<T>(MessageForm<T> form, Func<T, T> call, Func<T, ValueTask<T>> callAsync) : ArrayEcho
    where T : class
{
    private byte[] _scratch = [];
    private T? _request;
    private T? _reply;

    /// <summary>An echo by calls of a method, as generated code makes them.</summary>
    public MessageEcho(MessageForm<T> form, CallInvoker invoker, Method<T, T> method)
        : this(
            form,
            request => invoker.BlockingUnaryCall(method, null, default, request),
            request => new(invoker.AsyncUnaryCall(method, null, default, request).ResponseAsync))
    {
    }

    public override ReadOnlySpan<byte> Reply => form.BytesOf(_reply!, ref _scratch);

    public override Memory<byte> Prepare(ExchangeSize size)
    {
        (_reply as IDisposable)?.Dispose();
        _reply = null;
        return base.Prepare(size with { RequestBytes = form.BytesFor(size.RequestBytes) });
    }

    public override void Seal() => _request = form.Make(Request);

    public override void Call() => _reply = call(_request!);

    // The figures count the allocations of the arm, and not this method's.
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    public override async ValueTask CallAsync() => _reply = await callAsync(_request!);
}
