namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The client's end of a pump over a byte stream: reads as much as there is, and takes it apart.</summary>
internal sealed class ByteStreamPump(Stream stream) : IPump
{
    private readonly FrameBuffer _frames = new();

    public void Receive(long messages, int sizeBytes, PumpSink sink)
    {
        stream.Write(ByteStreamServer.Order(messages, sizeBytes));
        while (TakeFrames(messages, sink))
        {
            int count = stream.Read(_frames.Free.Span);
            Add(count);
        }
    }

    public async Task ReceiveAsync(long messages, int sizeBytes, PumpSink sink)
    {
        await stream.WriteAsync(ByteStreamServer.Order(messages, sizeBytes));
        while (TakeFrames(messages, sink))
        {
            int count = await stream.ReadAsync(_frames.Free);
            Add(count);
        }
    }

    // True while messages are missing.
    private bool TakeFrames(long messages, PumpSink sink)
    {
        while (_frames.TryTake())
        {
            sink.Take(_frames.Payload);
        }

        return sink.Taken < messages;
    }

    private void Add(int count)
    {
        if (count == 0)
        {
            throw new EndOfStreamException("The server ended the stream in the middle.");
        }

        _frames.Add(count);
    }
}
