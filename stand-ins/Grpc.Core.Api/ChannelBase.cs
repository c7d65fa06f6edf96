using Grpc.Core.Utils;

namespace Grpc.Core;

public abstract class ChannelBase
{
    protected ChannelBase(string target)
    {
        Target = GrpcPreconditions.CheckNotNull(target, nameof(target));
    }

    public string Target { get; }

    public abstract CallInvoker CreateCallInvoker();

    public Task ShutdownAsync() => ShutdownAsyncCore();

    // Channels from before this method existed have nothing to shut down.
    protected virtual Task ShutdownAsyncCore() => Task.CompletedTask;
}
