using System.Buffers;

namespace Grpc.Core;

/// <summary>
/// Where a marshaller puts a serialised message. As in the package, what a transport does not override throws
/// NotImplementedException; only the length is a hint that may be ignored.
/// </summary>
public abstract class SerializationContext
{
    public virtual void Complete(byte[] payload) => throw new NotImplementedException();

    public virtual IBufferWriter<byte> GetBufferWriter() => throw new NotImplementedException();

    public virtual void SetPayloadLength(int payloadLength)
    {
    }

    public virtual void Complete() => throw new NotImplementedException();
}
