using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <summary>An instance of a service, with its gate if it has one.</summary>
internal abstract class ServiceInstance(CallGate? gate)
{
    public CallGate? Gate => gate;

    /// <summary>The name of the service's type, for the log.</summary>
    protected abstract string TypeName { get; }

    /// <summary>Releases the instance. Logs what the user's code throws.</summary>
    public async ValueTask ReleaseAsync(ILogger logger)
    {
        try
        {
            await ReleaseAsync().ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            ShmLog.ReleaseFailed(logger, TypeName, exception);
        }
    }

    /// <summary>Runs the user's code.</summary>
    protected abstract ValueTask ReleaseAsync();
}
