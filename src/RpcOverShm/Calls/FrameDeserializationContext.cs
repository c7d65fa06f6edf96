using System.Buffers;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;

namespace RpcOverShm.Calls;

/// <summary>
/// The deserialisation context of one received message. Valid only during the deserialiser's call; not thread-safe.
/// Each thread caches one instance; a nested deserialisation creates another.
/// </summary>
internal sealed class FrameDeserializationContext : DeserializationContext
{
    [ThreadStatic]
    private static FrameDeserializationContext? s_spare;

    private ReceivedMessage _bytes;               // a copied message, or
    private ReadOnlySequence<byte> _inPlace;   // a message in the peer's memory
    private bool _hasMessage;
    private bool _isTaken;
    private bool? _isTakenAsArray;             // null if the access gives no hint

    public override int PayloadLength => _bytes.IsEmpty ? (int)_inPlace.Length : _bytes.Length;

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

    /// <summary>
    /// Deserialises a message in place, in the peer's memory. Only for a trusted peer: another could change the
    /// bytes meanwhile.
    /// </summary>
    public static T DeserializeInPlace<T>(Marshaller<T> marshaller, ReadOnlySpan<byte> message)
    {
        FrameDeserializationContext context = s_spare ?? new FrameDeserializationContext();
        s_spare = null;
        AmbientContext before = AmbientContext.Capture();
        RecordMemory record = RecordMemory.Of(message);
        context._inPlace = record.Sequence;
        context._hasMessage = true;
        context._isTaken = false;
        try
        {
            return marshaller.ContextualDeserializer(context);
        }
        finally
        {
            context._hasMessage = false;
            context._inPlace = default;
            record.Forget();
            before.Restore();
            s_spare = context;
        }
    }

    public override byte[] PayloadAsNewBuffer()
    {
        Take();
        _isTakenAsArray = true;
        return _bytes.IsEmpty ? _inPlace.ToArray() : _bytes.TakeArray();
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
        return _bytes.IsEmpty ? _inPlace : _bytes.AsSequence();
    }

    /// <summary>Transfers the received bytes to the caller, which must release them.</summary>
    public ReceivedMessage TakeBytes()
    {
        Take();
        ReceivedMessage taken = _bytes.IsEmpty ? ReceivedMessage.InChunks(_inPlace) : _bytes;
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
