using Grpc.Core.Interceptors;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>
/// A server and a channel to it in one process. Tests of gRPC's behaviour run on every kind of rig and do not know the
/// transport. The test's fixture disposes it.
/// </summary>
internal abstract class CallRig : IAsyncDisposable
{
    public abstract ChannelBase Channel { get; }

    /// <summary>The rig's log; empty on rigs that do not log here.</summary>
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

    public abstract Task ShutDownChannelAsync();

    /// <summary>Stops the server at once.</summary>
    public abstract Task KillServerAsync();

    /// <summary>Stops the server after its calls have ended.</summary>
    public abstract Task ShutDownServerAsync();

    public virtual async ValueTask DisposeAsync()
    {
        await ShutDownChannelAsync().Bounded();
        await KillServerAsync().Bounded();
        await WhenLoggedAsync();
        Log.Check();
    }

    /// <summary>Waits until what has happened so far is logged: the library defers many log entries.</summary>
    public static Task WhenLoggedAsync() =>
        Timeouts.Eventually(() => DeferredLog.IsEmpty, "all entries so far are logged");
}

/// <summary>The implementation under a test's calls.</summary>
public enum RigKind
{
    /// <summary>This library.</summary>
    Shm,

    /// <summary>Grpc.Core, the C core, over TCP on localhost.</summary>
    GrpcCore,

    /// <summary>Grpc.Net.Client and Kestrel over a Unix socket, whose behaviour this library follows.</summary>
    GrpcDotNet,
}
