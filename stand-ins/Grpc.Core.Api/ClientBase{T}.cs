namespace Grpc.Core;

public abstract class ClientBase<T> : ClientBase
    where T : ClientBase<T>
{
    protected ClientBase()
    {
    }

    protected ClientBase(ClientBaseConfiguration configuration)
        : base(configuration)
    {
    }

    public ClientBase(ChannelBase channel)
        : base(channel)
    {
    }

    public ClientBase(CallInvoker callInvoker)
        : base(callInvoker)
    {
    }

    public T WithHost(string host) => NewInstance(Configuration.WithHost(host));

    protected abstract T NewInstance(ClientBaseConfiguration configuration);
}
