using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Links;

/// <summary>Valid hellos, which tests spoil field by field, and the descriptors that belong to them.</summary>
internal static class Hellos
{
    public const int Ring = 64 << 10;

    public static PeerLimits Limits => new(Ring, 64 << 10, 10, 64 << 10);

    public static Hello Client => RawHello.Of(HelloType.Client, Limits);

    /// <summary>Returns a descriptor that matches the limits.</summary>
    public static SafeFileHandle GoodDescriptor() =>
        Descriptors.MemoryFile(SegmentLayout.SizeBytes(Ring), Descriptors.AllRequired);

    /// <summary>Sends a message with this number of good descriptors.</summary>
    public static void SendWith(Socket socket, byte[] message, int count)
    {
        using SafeFileHandle file = GoodDescriptor();
        RawDescriptorSender.SendMany(socket, message, file, count);
    }

    /// <summary>Sends a message with any number of descriptors, and closes them on this side.</summary>
    public static void Send(Socket socket, byte[] message, params ReadOnlySpan<SafeHandle> descriptors)
    {
        RawDescriptorSender.Send(socket, message, descriptors);
        foreach (SafeHandle descriptor in descriptors)
        {
            descriptor.Dispose();
        }
    }
}
