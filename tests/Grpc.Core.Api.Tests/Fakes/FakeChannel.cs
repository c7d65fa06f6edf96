namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>A channel that hands out one invoker, and from which nothing can be shut down.</summary>
internal sealed class FakeChannel(string target, CallInvoker invoker) : ChannelBase(target)
{
    public override CallInvoker CreateCallInvoker() => invoker;
}
