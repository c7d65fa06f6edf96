using System.Buffers.Binary;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>
/// Sends bytes with one descriptor over a Unix socket, and receives bytes with whatever descriptors come (SCM_RIGHTS,
/// for which .NET has no API: dotnet/runtime#932). Holds no state; a socket is used by one thread at a time.
/// </summary>
internal static unsafe class DescriptorPassing
{
    private const int MsgPeek = 0x2;
    private const int MsgDontwait = 0x40;
    private const int MsgNosignal = 0x4000;
    private const int MsgCmsgCloexec = 0x40000000;
    private const int MsgCtrunc = 0x8;

    private const int SolSocket = 1;
    private const int ScmRights = 1;

    // struct cmsghdr: length u64, level i32, type i32; descriptors of 4 bytes follow.
    private const int ControlHeaderBytes = 16;

    /// <summary>
    /// Room for more descriptors than any message may carry, so that surplus ones arrive here and are closed.
    /// </summary>
    public const int MaxDescriptors = 8;

    /// <summary>
    /// Sends the whole message in one call, with the descriptor if there is one. The message is far smaller
    /// than a socket buffer, so the call does not wait; a short write means that the peer has stuffed the
    /// socket and is an error.
    /// </summary>
    public static void Send(Socket socket, ReadOnlySpan<byte> message, SafeFileHandle? descriptor)
    {
        byte* control = stackalloc byte[ControlHeaderBytes + 8];
        new Span<byte>(control, ControlHeaderBytes + 8).Clear();
        bool held = false;
        try
        {
            fixed (byte* bytes = message)
            {
                var vector = new LinuxNative.IoVector { Address = bytes, Length = (nuint)message.Length };
                var header = new LinuxNative.MessageHeader { Vectors = &vector, VectorCount = 1 };
                if (descriptor is not null)
                {
                    descriptor.DangerousAddRef(ref held);
                    *(ulong*)control = ControlHeaderBytes + sizeof(int);
                    *(int*)(control + 8) = SolSocket;
                    *(int*)(control + 12) = ScmRights;
                    *(int*)(control + ControlHeaderBytes) = (int)descriptor.DangerousGetHandle();
                    header.Control = control;
                    header.ControlLength = ControlHeaderBytes + 8;
                }

                SendWhole(socket, &header, message.Length);
            }
        }
        finally
        {
            if (held)
            {
                descriptor!.DangerousRelease();
            }
        }
    }

    /// <summary>
    /// Receives what is there without waiting. Returns the number of bytes, 0 at the peer's close, -1 when nothing is
    /// there yet. Every descriptor that came is added to <paramref name="descriptors"/>, which its owner disposes.
    /// </summary>
    public static int Receive(Socket socket, Span<byte> buffer, List<SafeFileHandle> descriptors)
    {
        const int ControlBytes = ControlHeaderBytes + (MaxDescriptors * sizeof(int));
        byte* control = stackalloc byte[ControlBytes];
        new Span<byte>(control, ControlBytes).Clear();
        fixed (byte* bytes = buffer)
        {
            var vector = new LinuxNative.IoVector { Address = bytes, Length = (nuint)buffer.Length };
            var header = new LinuxNative.MessageHeader
            {
                Vectors = &vector,
                VectorCount = 1,
                Control = control,
                ControlLength = ControlBytes,
            };
            nint received;
            do
            {
                received = LinuxNative.RecvMsg(socket.SafeHandle, &header, MsgDontwait | MsgCmsgCloexec);
            }
            while (received < 0 && Marshal.GetLastPInvokeError() == LinuxNative.ErrnoEINTR);

            if (received < 0)
            {
                return Marshal.GetLastPInvokeError() == LinuxNative.ErrnoEAGAIN
                    ? -1
                    : throw new IOException($"Cannot read the rendezvous socket: {LinuxNative.LastErrorText()}.");
            }

            TakeDescriptors(
                new ReadOnlySpan<byte>(control, (int)Math.Min(header.ControlLength, ControlBytes)), descriptors);
            if ((header.Flags & MsgCtrunc) != 0)
            {
                throw new SegmentException($"The peer passed more than {MaxDescriptors} descriptors in one message.");
            }

            return (int)received;
        }
    }

    /// <summary>
    /// True when the peer has closed its end and nothing of it is left to be received. A look that neither waits nor
    /// takes anything, beside a receive that another thread has under way.
    /// </summary>
    public static bool IsAtEnd(Socket socket)
    {
        byte one;
        nint received = LinuxNative.Recv(socket.SafeHandle, &one, 1, MsgPeek | MsgDontwait);
        return received == 0
            || (received < 0
                && Marshal.GetLastPInvokeError() is not (LinuxNative.ErrnoEAGAIN or LinuxNative.ErrnoEINTR));
    }

    private static void SendWhole(Socket socket, LinuxNative.MessageHeader* header, int length)
    {
        nint sent;
        do
        {
            sent = LinuxNative.SendMsg(socket.SafeHandle, header, MsgDontwait | MsgNosignal);
        }
        while (sent < 0 && Marshal.GetLastPInvokeError() == LinuxNative.ErrnoEINTR);

        if (sent != length)
        {
            string why = sent < 0 ? LinuxNative.LastErrorText() : $"only {sent} of {length} bytes were taken";
            throw new IOException($"Cannot write the rendezvous socket: {why}.");
        }
    }

    private static void TakeDescriptors(ReadOnlySpan<byte> control, List<SafeFileHandle> descriptors)
    {
        while (control.Length >= ControlHeaderBytes)
        {
            long length = BinaryPrimitives.ReadInt64LittleEndian(control);
            if (length < ControlHeaderBytes || length > control.Length)
            {
                return;
            }

            bool isRights = BinaryPrimitives.ReadInt32LittleEndian(control[8..]) == SolSocket
                && BinaryPrimitives.ReadInt32LittleEndian(control[12..]) == ScmRights;
            ReadOnlySpan<byte> data = control[ControlHeaderBytes..(int)length];
            for (; isRights && data.Length >= sizeof(int); data = data[sizeof(int)..])
            {
                int descriptor = BinaryPrimitives.ReadInt32LittleEndian(data);
                descriptors.Add(new SafeFileHandle(descriptor, ownsHandle: true));
            }

            int next = (int)Math.Min((length + 7) & ~7, control.Length);
            control = control[next..];
        }
    }
}
