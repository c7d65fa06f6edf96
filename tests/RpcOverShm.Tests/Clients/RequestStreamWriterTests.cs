using System.Text;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Clients;

/// <summary>Requests that are written before their call has a connection.</summary>
internal sealed class RequestStreamWriterTests
{
    [Test]
    public async Task Write_BeforeTheStart_KeepsItsBytesItsPlaceAndOthersOut()
    {
        using var rig = new CallingRig();
        var call = new SingleResponseCall<string>(new LooseMethod(), latch: null);
        var started = new TaskCompletionSource<Connection?>();
        var writer = new RequestStreamWriter<string>(
            call, Marshallers.StringMarshaller, limitBytes: null, started.Task, isEncoded: false);
        Task write = writer.WriteAsync("first");

        // The thread's buffer is free for the next message.
        FrameSerializationContext.Serialize(Marshallers.StringMarshaller, "another", null, parts: null).Dispose();
        Assert.That(async () => await writer.WriteAsync("beside it"), Throws.InvalidOperationException);
        Assert.That(async () => await writer.CompleteAsync(), Throws.InvalidOperationException);
        Assert.That(write.IsCompleted, Is.False);
        call.TryAttach(rig.Connection);
        rig.Connection.StartCall(call, FrameFlags.None, "head"u8, default);
        started.SetResult(rig.Connection);
        await write.Bounded();
        await writer.WriteAsync("second").Bounded();
        await writer.CompleteAsync().Bounded();
        await writer.CompleteAsync().Bounded();
        Assert.That(async () => await writer.WriteAsync("too late"), Throws.InvalidOperationException);

        List<RawFrame> frames = rig.Peer.ReceiveUntil(FrameKind.HalfClose);
        Assert.That(
            frames.Select(frame => $"{frame.Kind} {Encoding.UTF8.GetString(frame.Body)}"),
            Is.EqualTo((string[])["CallStart ", "Message first", "Message second", "HalfClose "]));
        Assert.That(rig.Peer.ReceiveAll(), Is.Empty);
    }
}
