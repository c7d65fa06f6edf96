using System.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.Tests.Connections;

/// <summary>
/// One end of a link driven by hand: sends any frames, including illegal ones, and takes received records one by one
/// when the test asks for them.
/// </summary>
internal sealed class RawPeer(PeerLink link) : IDisposable
{
    public PeerLink Link { get; } = link;

    /// <summary>Sends a frame, which must fit.</summary>
    public void Send(RawFrame frame)
    {
        Assert.That(frame.TryWrite(Link.Writer), "There is room.");
        Link.WakePeerForData(Link.Writer.Publish());
    }

    /// <summary>Sends a record with a header and a payload made by the test.</summary>
    public void SendRecord(RecordHeader header, byte[] payload)
    {
        Assert.That(Link.Writer.TryClaim(payload.Length, isControl: true, out RingClaim claim), "There is room.");
        payload.CopyTo(claim.Payload);
        Link.Writer.Commit(claim, header);
        Link.WakePeerForData(Link.Writer.Publish());
    }

    /// <summary>Waits for the next frame, with a time limit, and returns it.</summary>
    public RawFrame Receive()
    {
        long start = Stopwatch.GetTimestamp();
        while (true)
        {
            uint localEvents = Link.LocalEvents;
            if (TryReceive() is { } frame)
            {
                return frame;
            }

            if (Stopwatch.GetElapsedTime(start) > Timeouts.Wait)
            {
                throw new TimeoutException("No frame came.");
            }

            PublishHead();
            long position = Link.Reader.Position;
            if (Link.Reader.Arm(WakeMethods.Futex))
            {
                Link.SleepForData(position, localEvents);
            }

            Link.Reader.Disarm();
        }
    }

    /// <summary>Receives frames up to one of this kind; returns all of them.</summary>
    public List<RawFrame> ReceiveUntil(FrameKind last)
    {
        List<RawFrame> frames = [Receive()];
        while (frames[^1].Kind != last)
        {
            frames.Add(Receive());
        }

        return frames;
    }

    /// <summary>Receives frames up to the End of a call; returns all of them.</summary>
    public List<RawFrame> ReceiveUntilEndOf(CallId call)
    {
        List<RawFrame> frames = [Receive()];
        while (frames[^1].Kind != FrameKind.End || frames[^1].Call != call)
        {
            frames.Add(Receive());
        }

        return frames;
    }

    /// <summary>Takes all available frames.</summary>
    public List<RawFrame> ReceiveAll()
    {
        var frames = new List<RawFrame>();
        while (TryReceive() is { } frame)
        {
            frames.Add(frame);
        }

        PublishHead();
        return frames;
    }

    /// <summary>Takes the next frame; returns null if there is none.</summary>
    public RawFrame? TryReceive()
    {
        if (!Link.Reader.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload))
        {
            return null;
        }

        var frame = RawFrame.Of(header, payload);
        Link.WakePeerForSpace(Link.Reader.Release());
        return frame;
    }

    public void PublishHead() => Link.WakePeerForSpace(Link.Reader.PublishHead());

    public void Dispose()
    {
        Link.Close(new CloseReason(CloseKind.Local, "The test is over."));
        Link.Leave();
        Link.Leave();
    }
}
