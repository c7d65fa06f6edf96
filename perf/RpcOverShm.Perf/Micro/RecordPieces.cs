using BenchmarkDotNet.Attributes;
using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm.Perf.Micro;

/// <summary>Serialisers alone: the records of <c>Serialisers</c>, without a transport.</summary>
public class RecordPieces
{
    private const string Tiny = "three scalars";
    private const string Small = "small record";
    private const string Wide = "strings and a map";
    private const string Table = "1000 records";

    private IPiece _piece = null!;

    private interface IPiece
    {
        int Serialise();

        object Parse();
    }

    [Params(Tiny, Small, Wide, Table)]
    public string Record { get; set; } = "";

    [Params("protobuf", "msgpack")]
    public string Serialiser { get; set; } = "";

    [GlobalSetup]
    public void SetUp()
    {
        RecordFormat format = RecordFormat.All.Single(format => format.Name == Serialiser);
        _piece = Record switch
        {
            Tiny => PieceOf(RecordKind.Tiny.Shape, format),
            Small => PieceOf(RecordKind.Small.Shape, format),
            Wide => PieceOf(RecordKind.Wide.Shape, format),
            _ => PieceOf(RecordKind.Table.Shape, format),
        };
    }

    [Benchmark(Description = "serialised")]
    public int Serialise() => _piece.Serialise();

    [Benchmark(Description = "parsed")]
    public object Parse() => _piece.Parse();

    private static Piece<T> PieceOf<T>(RecordShape<T> shape, RecordFormat format)
        where T : class, IMessage<T>, new()
    {
        byte[] pattern = new byte[shape.PatternBytes];
        new Random(1).NextBytes(pattern);
        return new Piece<T>(format.MarshallerOf<T>(), shape.Make(pattern));
    }

    private sealed class Piece<T> : IPiece
        where T : class
    {
        private readonly Marshaller<T> _marshaller;
        private readonly T _record;
        private readonly byte[] _bytes;

        public Piece(Marshaller<T> marshaller, T record)
        {
            _marshaller = marshaller;
            _record = record;
            using FrameSerializationContext context =
                FrameSerializationContext.Serialize(marshaller, record, limitBytes: null, parts: null);
            _bytes = context.Bytes.WrittenSpan.ToArray();
        }

        public int Serialise()
        {
            using FrameSerializationContext context =
                FrameSerializationContext.Serialize(_marshaller, _record, limitBytes: null, parts: null);
            return context.Bytes.Length;
        }

        public object Parse()
        {
            var bytes = new ReceivedMessage(_bytes);
            return FrameDeserializationContext.Deserialize(_marshaller, ref bytes);
        }
    }
}
