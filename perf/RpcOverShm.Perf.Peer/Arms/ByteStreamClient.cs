namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of an arm over byte streams: a stream for each thing that is opened.</summary>
internal sealed class ByteStreamClient(ByteStreamArm arm, string place) : IArmClient
{
    private const int LengthBytes = ByteStreamServer.LengthBytes;

    public async Task<IEcho> OpenEchoAsync(CallerKind caller)
    {
        Stream stream = await OpenAsync(LoadShape.Echo, caller);
        return arm.Codec?.MakeEcho(new FrameStream(stream, caller)) ?? new Echo(stream);
    }

    public async Task<IPump> OpenPumpAsync(CallerKind caller) =>
        new Pump(new FrameStream(await OpenAsync(LoadShape.Pump, caller), caller));

    public async Task<IDrain> OpenDrainAsync(CallerKind caller) =>
        new Drain(new FrameStream(await OpenAsync(LoadShape.Drain, caller), caller));

    // The server learns from the first bytes which load follows.
    private async Task<Stream> OpenAsync(LoadShape shape, CallerKind caller)
    {
        Stream stream = await arm.ConnectAsync(place, caller);
        await stream.WriteAsync(ByteStreamServer.Hello(shape, caller));
        return stream;
    }

    /// <summary>One write, and reads until the reply is whole.</summary>
    private sealed class Echo(Stream stream) : IEcho
    {
        private byte[] _requests = [];
        private byte[] _replies = [];
        private Memory<byte> _request;
        private Memory<byte> _reply;

        /// <summary>Empty when the length before it is wrong.</summary>
        public ReadOnlySpan<byte> Reply =>
            BinaryPrimitives.ReadInt32LittleEndian(_reply.Span) == _reply.Length - LengthBytes
                ? _reply.Span[LengthBytes..]
                : [];

        public Memory<byte> Prepare(ExchangeSize size)
        {
            _request = Slice(ref _requests, LengthBytes + size.RequestBytes);
            _reply = Slice(ref _replies, LengthBytes + size.ReplyExpected);
            BinaryPrimitives.WriteInt32LittleEndian(_request.Span, size.RequestBytes);
            return _request[LengthBytes..];
        }

        public void Call()
        {
            stream.Write(_request.Span);
            stream.ReadExactly(_reply.Span);
        }

        // The figures count the allocations of the arm, and not this method's.
        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        public async ValueTask CallAsync()
        {
            await stream.WriteAsync(_request);
            await stream.ReadExactlyAsync(_reply);
        }

        private static Memory<byte> Slice(ref byte[] buffer, int length)
        {
            buffer = buffer.Length < length ? new byte[length] : buffer;
            return buffer.AsMemory(0, length);
        }
    }

    private sealed class Pump(FrameStream frames) : IPump
    {
        public async Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink)
        {
            await frames.WriteAsync(ByteStreamServer.Order(messages, sizeBytes));
            while (sink.Taken < messages)
            {
                if (frames.TryTake())
                {
                    sink.Take(frames.Payload);
                }
                else if (!frames.Add(await frames.ReadAsync()))
                {
                    return;
                }
            }
        }
    }

    /// <summary>One write for each message, one answer for all.</summary>
    private sealed class Drain(FrameStream frames) : IDrain
    {
        private readonly byte[] _answer = new byte[sizeof(long)];

        public async Task<long> SendAsync(long messages, int sizeBytes)
        {
            await frames.WriteAsync(ByteStreamServer.Order(messages, sizeBytes));
            using var source = PumpMessages.OfSize(sizeBytes, LengthBytes);
            for (long i = 0; i < messages; i++)
            {
                await frames.WriteAsync(ByteStreamServer.Framed(source.Next(i)));
            }

            return await frames.TryReadBytesAsync(_answer) ? BinaryPrimitives.ReadInt64LittleEndian(_answer) : 0;
        }
    }
}
