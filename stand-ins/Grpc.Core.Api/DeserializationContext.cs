using System.Buffers;

namespace Grpc.Core;

/// <summary>
/// Where a marshaller finds a received message. As in the package, the accessor that a transport does not override
/// throws NotImplementedException.
/// </summary>
public abstract class DeserializationContext
{
    public abstract int PayloadLength { get; }

    public virtual byte[] PayloadAsNewBuffer() => throw new NotImplementedException();

    public virtual ReadOnlySequence<byte> PayloadAsReadOnlySequence() => throw new NotImplementedException();
}
