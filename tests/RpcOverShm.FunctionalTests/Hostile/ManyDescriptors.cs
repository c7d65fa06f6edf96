using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Segments;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Passes one descriptor many times in one message, which the library never does.</summary>
internal static unsafe class ManyDescriptors
{
    private const int MsgDontwait = 0x40;
    private const int MsgNosignal = 0x4000;
    private const int HeaderBytes = 16;

    public static void Send(Socket socket, ReadOnlySpan<byte> message, SafeFileHandle descriptor, int count)
    {
        if (!TrySend(socket, message, descriptor, count))
        {
            throw new IOException(LinuxNative.LastErrorText());
        }
    }

    /// <summary>Returns false if the peer has closed the socket or its buffer is full.</summary>
    public static bool TrySend(Socket socket, ReadOnlySpan<byte> message, SafeFileHandle descriptor, int count)
    {
        byte[] control = new byte[HeaderBytes + (((count * sizeof(int)) + 7) & ~7)];
        BitConverter.TryWriteBytes(control, (long)(HeaderBytes + (count * sizeof(int))));
        BitConverter.TryWriteBytes(control.AsSpan(8), 1);
        BitConverter.TryWriteBytes(control.AsSpan(12), 1);
        MemoryMarshal.Cast<byte, int>(control.AsSpan(HeaderBytes))[..count].Fill((int)descriptor.DangerousGetHandle());
        fixed (byte* bytes = message)
        fixed (byte* controlBytes = control)
        {
            var vector = new LinuxNative.IoVector { Address = bytes, Length = (nuint)message.Length };
            var header = new LinuxNative.MessageHeader
            {
                Vectors = &vector,
                VectorCount = 1,
                Control = controlBytes,
                ControlLength = (ulong)control.Length,
            };
            return LinuxNative.SendMsg(socket.SafeHandle, &header, MsgDontwait | MsgNosignal) == message.Length;
        }
    }
}
