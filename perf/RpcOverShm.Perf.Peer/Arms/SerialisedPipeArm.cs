namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The named pipe with messages that are serialised and parsed on both sides: what a program writes that has a
/// serialiser and no RPC.
/// </summary>
internal sealed class SerialisedPipeArm(IWireFormat format) : PipeArm
{
    private const int LengthBytes = ByteStreamServer.LengthBytes;

    public override string Name => "pipe-" + format.Name;

    public override bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    protected override IEcho MakeEcho(Stream stream) => new Echo(new FrameStream(stream), format);

    protected override async Task ServeStreamAsync(Stream stream)
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

                await ((CallerKind)hello[1] == CallerKind.Blocking
                    ? Task.Factory.StartNew(() => Serve(frames), TaskCreationOptions.LongRunning)
                    : ServeAsync(frames));
            }
        }
        catch (IOException)
        {
            // The client's process has ended.
        }
    }

    private void Serve(FrameStream frames)
    {
        while (frames.TryRead())
        {
            frames.Stream.Write(Answer(frames));
        }
    }

    private async Task ServeAsync(FrameStream frames)
    {
        while (await frames.TryReadAsync())
        {
            await frames.Stream.WriteAsync(Answer(frames));
        }
    }

    private byte[] Answer(FrameStream frames)
    {
        ReadOnlyMemory<byte> request = format.Parse(frames.Payload);
        ServedTally.CountRequest(request.Span);
        return Framed(request);
    }

    private byte[] Framed(ReadOnlyMemory<byte> payload) => Framed(format, payload);

    private static byte[] Framed(IWireFormat format, ReadOnlyMemory<byte> payload)
    {
        byte[] frame = format.Serialise(payload, LengthBytes);
        BinaryPrimitives.WriteInt32LittleEndian(frame, frame.Length - LengthBytes);
        return frame;
    }

    private sealed class Echo(FrameStream frames, IWireFormat format) : IEcho
    {
        private byte[] _request = [];
        private ReadOnlyMemory<byte> _reply;

        public ReadOnlySpan<byte> Reply => _reply.Span;

        public Memory<byte> Prepare(ExchangeSize size)
        {
            _request = _request.Length == size.RequestBytes ? _request : new byte[size.RequestBytes];
            return _request;
        }

        public void Call()
        {
            frames.Stream.Write(Framed(format, _request));
            Take(frames.TryRead());
        }

        // What is allocated for a call is to be the arm's, not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public async ValueTask CallAsync()
        {
            await frames.Stream.WriteAsync(Framed(format, _request));
            Take(await frames.TryReadAsync());
        }

        private void Take(bool isThere) =>
            _reply = isThere ? format.Parse(frames.Payload) : throw new EndOfStreamException("The server is gone.");
    }
}
