using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Retries;

/// <summary>A method of no channel: its calls are never sent, and end as their test says.</summary>
internal sealed class LooseMethod(LogGuard log)
    : AnsweredMethod<string>(SettingsWith(log), "/loose/method", Marshallers.StringMarshaller)
{
    private static ClientSettings SettingsWith(LogGuard log) => new()
    {
        MaxReceiveMessageBytes = null,
        MaxSendMessageBytes = null,
        CallWindow = 1 << 16,
        Codec = null,
        AllowInPlaceParsing = false,
        ThrowsOperationCanceled = false,
        Credentials = [],
        Authority = "",
        Scheduling = SchedulingMode.ThreadPool,
        Logger = log,
    };

    public override void Start(ClientCall call, object snapshot) =>
        throw new InvalidOperationException("A call of no channel can't be started.");
}
