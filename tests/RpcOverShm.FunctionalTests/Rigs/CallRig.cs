using Grpc.Core.Interceptors;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>
/// A server with some services and a channel to it, in one process. A test that states gRPC's behaviour runs on every
/// kind of rig, and knows nothing of what is below. The test's fixture disposes it.
/// </summary>
internal abstract class CallRig : IAsyncDisposable
{
    public abstract ChannelBase Channel { get; }

    /// <summary>What the rig logs; a rig that does not log here leaves it empty.</summary>
    public LogGuard Log { get; } = new();

    public CallInvoker Invoker => Channel.CreateCallInvoker();

    public ScriptClient Client => new(Invoker);

    public Conformance.ConformanceClient Conformance => new(Channel);

    public static async Task<CallRig> StartAsync(
        RigKind kind, RigOptions? options, params ServerServiceDefinition[] services)
    {
        options ??= new RigOptions();
        ServerServiceDefinition[] intercepted =
            [.. services.Select(service => service.Intercept([.. options.ServerInterceptors]))];
        return kind switch
        {
            RigKind.Shm => await ShmRig.StartAsync(options, intercepted),
            RigKind.GrpcCore => await GrpcCoreRig.StartAsync(options, intercepted),
            _ => await GrpcDotNetRig.StartAsync(options, intercepted),
        };
    }

    /// <summary>Shuts the channel down, as its user would.</summary>
    public abstract Task ShutDownChannelAsync();

    /// <summary>Stops the server at once.</summary>
    public abstract Task KillServerAsync();

    /// <summary>Stops the server when its calls have ended.</summary>
    public abstract Task ShutDownServerAsync();

    public virtual async ValueTask DisposeAsync()
    {
        await ShutDownChannelAsync().Bounded();
        await KillServerAsync().Bounded();
        Log.Check();
    }
}

/// <summary>What carries the calls of a test.</summary>
public enum RigKind
{
    /// <summary>This project.</summary>
    Shm,

    /// <summary>Grpc.Core, the C core, over a socket of localhost: what gRPC does.</summary>
    GrpcCore,

    /// <summary>Grpc.Net.Client and Kestrel over a Unix socket: gRPC too, and this project follows it.</summary>
    GrpcDotNet,
}
