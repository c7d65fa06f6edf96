namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Gives whole arrays and nothing else.</summary>
internal sealed class FakeDeserializationContext(byte[] payload) : DeserializationContext
{
    public override int PayloadLength => payload.Length;

    public override byte[] PayloadAsNewBuffer() => [.. payload];
}
