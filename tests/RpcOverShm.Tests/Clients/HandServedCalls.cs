using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Clients;

/// <summary>
/// Calls on a real connection that the test itself ends. It stands in for the holder of the reader role, so it chooses
/// what happens between the arrival of a frame and the run of the user code that the frame makes runnable.
/// </summary>
internal static class HandServedCalls
{
    /// <summary>The failure that the server reports.</summary>
    public static Status Planned { get; } = new(StatusCode.Aborted, "planned");

    /// <summary>Starts a call; the peer has taken its first frame.</summary>
    public static T Start<T>(this CallingRig rig, T call, in CallOptions options = default)
        where T : ClientCall
    {
        const FrameFlags Whole = FrameFlags.HasMessage | FrameFlags.HalfClose;
        Assert.That(call.TryArm(options) && call.TryAttach(rig.Connection));
        Assert.That(
            rig.Connection.StartCall(call, Whole, "head"u8, "request"u8), Is.EqualTo(StartResult.Started));
        Assert.That(rig.Peer.Receive().Call, Is.EqualTo(call.Id));
        return call;
    }

    /// <summary>Gives the call its End, as the holder of the reader role does, and runs no user code.</summary>
    public static void EndByServer(
        this ClientCall call, in Status status, string? message = null, bool isNotProcessed = false)
    {
        using var head = new PooledBufferWriter();
        new StatusTrailer(status, Metadata: null, isNotProcessed).Encode(head);
        FrameFlags flags = message is null ? FrameFlags.None : FrameFlags.HasMessage;
        call.OnEnd(head.WrittenSpan, Encoding.UTF8.GetBytes(message ?? ""), flags);
    }

    public static void AssertFailed(Task call, in Status status) => Assert.That(
        async () => await call.Bounded(),
        Throws.InstanceOf<RpcException>().With.Property(nameof(RpcException.Status)).EqualTo(status));
}
