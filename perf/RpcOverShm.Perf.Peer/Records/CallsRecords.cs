namespace RpcOverShm.Perf.Peer.Records;

/// <summary>Records by calls of the service's methods.</summary>
internal sealed class CallsRecords(CallInvoker invoker) : IRecordTransport
{
    public IEcho EchoOf<T>(RecordShape<T> shape, int sizeBytes)
        where T : class, IMessage<T>, new() =>
        new Echo<T>(shape, invoker, MethodOf<T>(sizeBytes));

    // As the generated client has them, whose own are private.
    private static Method<T, T> MethodOf<T>(int sizeBytes)
        where T : class, IMessage<T>, new()
    {
        string name = sizeBytes switch
        {
            RecordSizes.Tiny => "EchoTiny",
            RecordSizes.Small => "EchoSmall",
            RecordSizes.Wide => "EchoWide",
            _ => "EchoTable",
        };
        Marshaller<T> marshaller = RecordFormat.Protobuf.MarshallerOf<T>();
        return new Method<T, T>(
            MethodType.Unary, Testing.Protos.Records.Descriptor.FullName, name, marshaller, marshaller);
    }

    private sealed class Echo<T>(RecordShape<T> shape, CallInvoker invoker, Method<T, T> method) : ShapedEcho<T>(shape)
        where T : class, IMessage<T>
    {
        public override void Call() => Answer = invoker.BlockingUnaryCall(method, null, default, Request!);

        // What is allocated for a call is to be the arm's, not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public override async ValueTask CallAsync() =>
            Answer = await invoker.AsyncUnaryCall(method, null, default, Request!);
    }
}

/// <summary>The client's end of a gRPC arm with records.</summary>
internal sealed class CallsRecordsClient(CallInvoker invoker) : IArmClient
{
    public Task<IEcho> OpenEchoAsync(CallerKind caller) =>
        Task.FromResult<IEcho>(new RecordEcho(new CallsRecords(invoker)));
}
