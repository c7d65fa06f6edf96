using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Retries;

/// <summary>A method without a channel: its calls are never sent, and the test ends them.</summary>
internal sealed class LooseMethod() : AnsweredMethod<string>(s_settings, "/loose/method", Marshallers.StringMarshaller)
{
    private static readonly ClientSettings s_settings = new()
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
        Logger = new LogGuard(),
    };

    public override void Start(ClientCall call, object snapshot) =>
        throw new InvalidOperationException("A call of no channel can't be started.");
}
