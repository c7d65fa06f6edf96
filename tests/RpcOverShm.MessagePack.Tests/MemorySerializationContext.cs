using System.Buffers;
using Grpc.Core;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>
/// Collects the bytes that a marshaller writes, and checks them against the announced length. Lends at most
/// <paramref name="mostAtOnce"/> bytes at a time unless more are requested, and never more than announced. For one
/// thread; allocates nothing once its buffer has grown.
/// </summary>
internal sealed class MemorySerializationContext(int mostAtOnce = int.MaxValue)
    : SerializationContext, IBufferWriter<byte>
{
    private byte[] _bytes = [];
    private int _length;
    private int? _announced;
    private bool _isComplete;

    public byte[] ToArray()
    {
        Assert.That(_isComplete, "The marshaller completed the message.");
        if (_announced is { } announced)
        {
            Assert.That(_length, Is.EqualTo(announced), "The announced length is the written one.");
        }

        return _bytes[.._length];
    }

    /// <summary>Resets the context for the next message.</summary>
    public void Clear()
    {
        _length = 0;
        _announced = null;
        _isComplete = false;
    }

    public override void SetPayloadLength(int payloadLength)
    {
        _announced = payloadLength;
        Reserve(payloadLength);
    }

    public override IBufferWriter<byte> GetBufferWriter() => this;

    public override void Complete(byte[] payload)
    {
        Reserve(payload.Length);
        payload.CopyTo(_bytes, 0);
        _length = payload.Length;
        _isComplete = true;
    }

    public override void Complete() => _isComplete = true;

    public void Advance(int count) => _length += count;

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        int room = Room(sizeHint);
        return _bytes.AsMemory(_length, room);
    }

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

    private int Room(int sizeHint)
    {
        int wanted = Math.Max(sizeHint, 1);
        if (_announced < _length + wanted)
        {
            Assert.Fail("The marshaller asks for more than it has announced.");
        }

        Reserve(wanted);
        return Math.Min(_bytes.Length - _length, Math.Max(wanted, mostAtOnce));
    }

    private void Reserve(int count)
    {
        if (_bytes.Length - _length < count)
        {
            Array.Resize(ref _bytes, (2 * _length) + count);
        }
    }
}
