using System.Buffers;
using Grpc.Core;
using RpcOverShm.Buffers;

namespace RpcOverShm.Calls;

/// <summary>
/// The deserialisation context of one received message. Valid only during the deserialiser's call; not thread-safe.
/// Each thread caches one instance; a nested deserialisation creates another.
/// </summary>
internal sealed class FrameDeserializationContext : DeserializationContext
{
    [ThreadStatic]
    private static FrameDeserializationContext? s_spare;

    private ReceivedMessage _bytes;
    private bool _hasMessage;
    private bool _isTaken;
    private bool? _isTakenAsArray; // null if the access gives no hint

    public override int PayloadLength => _bytes.Length;

    /// <summary>Deserialises a message and releases its bytes, even if the marshaller throws.</summary>
    public static T Deserialize<T>(Marshaller<T> marshaller, ref ReceivedMessage bytes)
    {
        FrameDeserializationContext context = s_spare ?? new FrameDeserializationContext();
        s_spare = null;
        context._bytes = bytes;
        context._hasMessage = !bytes.IsEmpty;
        context._isTaken = false;
        context._isTakenAsArray = null;
        bytes = default;
        try
        {
            return marshaller.ContextualDeserializer(context);
        }
        finally
        {
            if (context._bytes.Length >= ReceivedMessage.SmallestArrayBytes && context._isTakenAsArray is { } isAsArray)
            {
                PayloadAccessHint.Of<T>().IsAsArray = isAsArray;
            }

            context._hasMessage = false;
            context._bytes.Release();
            s_spare = context;
        }
    }

    public override byte[] PayloadAsNewBuffer()
    {
        Take();
        _isTakenAsArray = true;
        return _bytes.TakeArray();
    }

    public override ReadOnlySequence<byte> PayloadAsReadOnlySequence()
    {
        ReadOnlySequence<byte> payload = PayloadToDecode();
        _isTakenAsArray = false;
        return payload;
    }

    /// <summary>Returns the encoded message. The access hint is left to the marshaller of the decoded one.</summary>
    public ReadOnlySequence<byte> PayloadToDecode()
    {
        Take();
        return _bytes.AsSequence();
    }

    /// <summary>Transfers the received bytes to the caller, which must release them.</summary>
    public ReceivedMessage TakeBytes()
    {
        Take();
        ReceivedMessage taken = _bytes;
        _bytes = default;
        return taken;
    }

    private void Take()
    {
        if (_isTaken || !_hasMessage)
        {
            throw new InvalidOperationException("The payload can be taken once, during the call of the deserializer.");
        }

        _isTaken = true;
    }
}
