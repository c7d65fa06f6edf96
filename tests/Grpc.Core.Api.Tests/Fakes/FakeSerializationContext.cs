namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Takes whole arrays and nothing else.</summary>
internal sealed class FakeSerializationContext : SerializationContext
{
    internal byte[]? Payload { get; private set; }

    public override void Complete(byte[] payload) => Payload = payload;
}
