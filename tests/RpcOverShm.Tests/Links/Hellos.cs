using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Links;

/// <summary>Hellos that are right, to be spoilt one by one, and the descriptors to go with them.</summary>
internal static class Hellos
{
    public const int Ring = 64 << 10;

    public static PeerLimits Limits => new(Ring, 64 << 10, 10, 64 << 10);

    public static Hello Client => new()
    {
        Type = HelloType.Client,
        Purpose = ConnectionPurpose.Calls,
        ConnectionId = Guid.NewGuid(),
        Limits = Limits,
    };

    /// <summary>A descriptor that goes with the limits.</summary>
    public static SafeFileHandle GoodDescriptor() =>
        Descriptors.MemoryFile(SegmentLayout.SizeBytes(Ring), Descriptors.AllRequired);

    /// <summary>Sends a message with any number of descriptors, and closes them here.</summary>
    public static void Send(Socket socket, byte[] message, params ReadOnlySpan<SafeHandle> descriptors)
    {
        RawDescriptorSender.Send(socket, message, descriptors);
        foreach (SafeHandle descriptor in descriptors)
        {
            descriptor.Dispose();
        }
    }
}
