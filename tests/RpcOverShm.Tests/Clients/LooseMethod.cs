using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Clients;

/// <summary>A method of no channel: a test sends its calls by hand or not at all, and ends them.</summary>
internal sealed class LooseMethod(LogGuard? log = null)
    : ResponseMethod<string>(
        SettingsWith(log ?? new LogGuard()), MethodOf(Marshallers.StringMarshaller), Marshallers.StringMarshaller)
{
    public static Method<T, T> MethodOf<T>(Marshaller<T> marshaller) =>
        new(MethodType.Unary, "loose", "method", marshaller, marshaller);

    public static ClientSettings SettingsWith(LogGuard log) => new()
    {
        MaxReceiveMessageBytes = null,
        MaxSendMessageBytes = null,
        CallWindow = 1 << 16,
        Authority = "",
        Scheduling = SchedulingMode.ThreadPool,
        Logger = log,
    };

    /// <summary>Runs in place of a transparent retry; null if the test allows none.</summary>
    public Action<object>? OnRetry { get; init; }

    public override void Start(ClientCall call, object snapshot) =>
        (OnRetry ?? throw new InvalidOperationException("A call of no channel can't be started."))(snapshot);

    public override string? CreateEmptyResponse() => "";
}
