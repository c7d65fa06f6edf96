using System.Net.Sockets;
using System.Runtime.InteropServices;
using RpcOverShm.Linux;

namespace RpcOverShm.TestPeer.Raw;

/// <summary>Sends any number of descriptors with a message, which the library never does.</summary>
internal static unsafe class RawDescriptorSender
{
    private const int MsgDontwait = 0x40;
    private const int MsgNosignal = 0x4000;
    private const int HeaderBytes = 16;

    public static void Send(Socket socket, ReadOnlySpan<byte> message, params ReadOnlySpan<SafeHandle> descriptors) =>
        Send(socket, flags: 0, message, descriptors);

    public static void Send(
        Socket socket, int flags, ReadOnlySpan<byte> message, params ReadOnlySpan<SafeHandle> descriptors)
    {
        if (!TrySend(socket, flags, message, descriptors))
        {
            throw new IOException(LinuxNative.LastErrorText());
        }
    }

    /// <summary>Passes one descriptor many times.</summary>
    public static void SendMany(Socket socket, ReadOnlySpan<byte> message, SafeHandle descriptor, int count) =>
        Send(socket, message, [.. Enumerable.Repeat(descriptor, count)]);

    /// <summary>
    /// Passes one descriptor many times. Returns false if the peer has closed the socket, its buffer is full, or the
    /// kernel refuses it.
    /// </summary>
    public static bool TrySendMany(Socket socket, ReadOnlySpan<byte> message, SafeHandle descriptor, int count) =>
        TrySend(socket, flags: 0, message, [.. Enumerable.Repeat(descriptor, count)]);

    private static bool TrySend(
        Socket socket, int flags, ReadOnlySpan<byte> message, ReadOnlySpan<SafeHandle> descriptors)
    {
        int length = HeaderBytes + (descriptors.Length * sizeof(int));
        byte[] control = new byte[(length + 7) & ~7];
        fixed (byte* controlBytes = control)
        fixed (byte* bytes = message)
        {
            *(long*)controlBytes = length;
            *(int*)(controlBytes + 8) = 1;  // SOL_SOCKET
            *(int*)(controlBytes + 12) = 1; // SCM_RIGHTS
            for (int i = 0; i < descriptors.Length; i++)
            {
                *(int*)(controlBytes + HeaderBytes + (i * sizeof(int))) = (int)descriptors[i].DangerousGetHandle();
            }

            var vector = new LinuxNative.IoVector { Address = bytes, Length = (nuint)message.Length };
            var header = new LinuxNative.MessageHeader
            {
                Vectors = &vector,
                VectorCount = 1,
                Control = descriptors.IsEmpty ? null : controlBytes,
                ControlLength = descriptors.IsEmpty ? 0 : (ulong)control.Length,
            };
            return LinuxNative.SendMsg(socket.SafeHandle, &header, flags | MsgDontwait | MsgNosignal)
                == message.Length;
        }
    }
}
