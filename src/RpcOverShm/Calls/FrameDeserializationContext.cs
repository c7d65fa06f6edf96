using System.Buffers;
using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>
/// One received message as a marshaller sees it. Valid during the deserialiser's call; used by one thread. Kept for
/// each thread and used again, unless a deserialiser itself deserialises.
/// </summary>
internal sealed class FrameDeserializationContext : DeserializationContext
{
    [ThreadStatic]
    private static FrameDeserializationContext? s_spare;

    private MessageBytes _bytes;
    private bool _isTaken;

    public override int PayloadLength => _bytes.Length;

    /// <summary>Deserialises the message and releases its bytes, whatever the marshaller does.</summary>
    public static T Deserialize<T>(Marshaller<T> marshaller, ref MessageBytes bytes)
    {
        FrameDeserializationContext context = s_spare ?? new FrameDeserializationContext();
        s_spare = null;
        context._bytes = bytes;
        context._isTaken = false;
        bytes = default;
        try
        {
            return marshaller.ContextualDeserializer(context);
        }
        finally
        {
            context._bytes.Release();
            s_spare = context;
        }
    }

    public override byte[] PayloadAsNewBuffer()
    {
        Take();
        return _bytes.ToArray();
    }

    public override ReadOnlySequence<byte> PayloadAsReadOnlySequence()
    {
        Take();
        return _bytes.AsSequence();
    }

    private void Take()
    {
        if (_isTaken || _bytes.IsEmpty)
        {
            throw new InvalidOperationException("The payload can be taken once, during the call of the deserializer.");
        }

        _isTaken = true;
    }
}
