namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// Records over a byte stream, both ends: what a program writes that has a serialiser and no RPC. A frame's first byte
/// behind its length is the kind of record.
/// </summary>
internal sealed class RecordStreams(RecordFormat format)
{
    public IEcho MakeEcho(Stream stream) => new RecordEcho(new Client(format, new FrameStream(stream)));

    /// <summary>Serves one client until it is gone.</summary>
    public async Task ServeAsync(Stream stream)
    {
        try
        {
            await using (stream)
            {
                var frames = new FrameStream(stream);
                byte[] hello = new byte[ByteStreamServer.HelloBytes];
                if (!await frames.TryReadBytesAsync(hello))
                {
                    return;
                }

                var server = new Server(format);
                await ((CallerKind)hello[1] == CallerKind.Blocking
                    ? Task.Factory.StartNew(() => server.Serve(frames), TaskCreationOptions.LongRunning)
                    : server.ServeAsync(frames));
            }
        }
        catch (IOException)
        {
            // The client's process has ended.
        }
    }

    private static byte KindOf(int sizeBytes) => sizeBytes switch
    {
        RecordSizes.Tiny => 0,
        RecordSizes.Small => 1,
        RecordSizes.Wide => 2,
        _ => 3,
    };

    private sealed class Server(RecordFormat format)
    {
        private readonly FrameSerialization _to = new();
        private readonly FrameDeserialization _from = new();

        public void Serve(FrameStream frames)
        {
            while (frames.TryRead())
            {
                frames.Stream.Write(Answer(frames.Frame).Span);
            }
        }

        public async Task ServeAsync(FrameStream frames)
        {
            while (await frames.TryReadAsync())
            {
                await frames.Stream.WriteAsync(Answer(frames.Frame));
            }
        }

        private ReadOnlyMemory<byte> Answer(ReadOnlyMemory<byte> frame) =>
            frame.Span[ByteStreamServer.LengthBytes] switch
            {
                0 => Answer<TinyRecord>(frame),
                1 => Answer<SmallRecord>(frame),
                2 => Answer<WideRecord>(frame),
                _ => Answer<TableRecord>(frame),
            };

        private ReadOnlyMemory<byte> Answer<T>(ReadOnlyMemory<byte> frame)
            where T : class, IMessage<T>, new()
        {
            T record = _from.Read(format.MarshallerOf<T>(), frame[FrameSerialization.PrefixBytes..]);
            ServedTally.Count(wrongBytes: 0);
            return _to.Frame(format.MarshallerOf<T>(), record, frame.Span[ByteStreamServer.LengthBytes]);
        }
    }

    private sealed class Client(RecordFormat format, FrameStream frames) : IRecordTransport
    {
        public IEcho EchoOf<T>(RecordShape<T> shape, int sizeBytes)
            where T : class, IMessage<T>, new() =>
            new Echo<T>(shape, frames, format, KindOf(sizeBytes));
    }

    private sealed class Echo<T>(RecordShape<T> shape, FrameStream frames, RecordFormat format, byte kind)
        : ShapedEcho<T>(shape)
        where T : class, IMessage<T>, new()
    {
        private readonly FrameSerialization _to = new();
        private readonly FrameDeserialization _from = new();

        public override void Call()
        {
            frames.Stream.Write(_to.Frame(format.MarshallerOf<T>(), Request!, kind).Span);
            Take(frames.TryRead());
        }

        // What is allocated for a call is to be the arm's, not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public override async ValueTask CallAsync()
        {
            await frames.Stream.WriteAsync(_to.Frame(format.MarshallerOf<T>(), Request!, kind));
            Take(await frames.TryReadAsync());
        }

        private void Take(bool isThere) => Answer = isThere
            ? _from.Read(format.MarshallerOf<T>(), frames.Frame[FrameSerialization.PrefixBytes..])
            : throw new EndOfStreamException("The server is gone.");
    }
}
