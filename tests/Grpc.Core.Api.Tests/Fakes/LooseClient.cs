namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>A client that no generator has written: there is no service class around it.</summary>
internal sealed class LooseClient : ClientBase
{
    internal LooseClient()
        : base(new RecordingCallInvoker())
    {
    }
}
