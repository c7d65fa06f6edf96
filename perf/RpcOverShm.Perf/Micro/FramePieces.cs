using BenchmarkDotNet.Attributes;
using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Micro;

/// <summary>Heads of frames and messages, to bytes and back.</summary>
public class FramePieces
{
    private readonly PooledBufferWriter _buffer = new();
    private readonly byte[] _method = "/rpcovershm.testing.Conformance/Echo"u8.ToArray();
    private readonly Payload _message = new() { Data = UnsafeByteOperations.UnsafeWrap(new byte[100]) };
    private readonly Marshaller<Payload> _marshaller = Marshallers.Create(
        static (message, context) =>
        {
            context.SetPayloadLength(message.CalculateSize());
            message.WriteTo(context.GetBufferWriter());
            context.Complete();
        },
        static context => Payload.Parser.ParseFrom(context.PayloadAsReadOnlySequence()));

    private byte[] _head = [];
    private byte[] _bytes = [];

    [GlobalSetup]
    public void SetUp()
    {
        EncodeHead();
        _head = _buffer.WrittenSpan.ToArray();
        _bytes = _message.ToByteArray();
    }

    [Benchmark(Description = "a request's head, encoded")]
    public int EncodeHead()
    {
        _buffer.Clear();
        new RequestHead { Method = _method }.Encode(_buffer);
        return _buffer.Length;
    }

    [Benchmark(Description = "a request's head, decoded")]
    public int DecodeHead() => RequestHead.Decode(_head).Method.Length;

    [Benchmark(Description = "a Protobuf message of 100 B, serialised")]
    public int Serialise()
    {
        using var context = FrameSerializationContext.Serialize(_marshaller, _message, null, parts: null);
        return context.Bytes.Length;
    }

    [Benchmark(Description = "a Protobuf message of 100 B, parsed from pooled bytes")]
    public Payload Parse()
    {
        var bytes = new ReceivedMessage(_bytes);
        return FrameDeserializationContext.Deserialize(_marshaller, ref bytes);
    }
}
