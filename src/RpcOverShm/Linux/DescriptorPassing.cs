using System.Buffers.Binary;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// Passes file descriptors over a Unix socket (SCM_RIGHTS, for which .NET has no API: dotnet/runtime#932). The class
/// has no state. One thread at a time may send or receive on a socket.
/// </summary>
internal static unsafe class DescriptorPassing
{
    private const int MsgPeek = 0x2;
    private const int MsgCmsgCloexec = 0x40000000;
    private const int MsgCtrunc = 0x8;
    private const int ScmRights = 1;

    // struct cmsghdr: length u64, level i32, type i32; descriptors of 4 bytes follow.
    private const int ControlHeaderBytes = 16;

    /// <summary>As many descriptors as a valid message carries at most. The kernel keeps those beyond them.</summary>
    public const int MaxDescriptors = 16;

    /// <summary>
    /// Sends the whole message in one system call, with the descriptors. The call never waits: a message is far smaller
    /// than a socket buffer.
    /// </summary>
    /// <exception cref="IOException">
    /// The peer is gone, or the buffer is full nevertheless; HResult is the errno.
    /// </exception>
    /// <exception cref="SegmentException">The system lacks something, so a later call may succeed.</exception>
    /// <exception cref="ObjectDisposedException">The socket or a descriptor is closed.</exception>
    public static void Send(SafeHandle socket, ReadOnlySpan<byte> message, IReadOnlyList<SafeHandle> descriptors)
    {
        const int ControlBytes = ControlHeaderBytes + (MaxDescriptors * sizeof(int));
        byte* control = stackalloc byte[ControlBytes];
        new Span<byte>(control, ControlBytes).Clear();
        int count = 0;
        try
        {
            fixed (byte* bytes = message)
            {
                var vector = new LinuxNative.IoVector { Address = bytes, Length = (nuint)message.Length };
                var header = new LinuxNative.MessageHeader { Vectors = &vector, VectorCount = 1 };
                var numbers = (int*)(control + ControlHeaderBytes);
                for (bool isReferenced = false; count < descriptors.Count; count++, isReferenced = false)
                {
                    descriptors[count].DangerousAddRef(ref isReferenced);
                    numbers[count] = (int)descriptors[count].DangerousGetHandle();
                }

                if (count > 0)
                {
                    *(ulong*)control = (ulong)(ControlHeaderBytes + (count * sizeof(int)));
                    *(int*)(control + 8) = LinuxNative.SolSocket;
                    *(int*)(control + 12) = ScmRights;
                    header.Control = control;
                    header.ControlLength = (nuint)((ControlHeaderBytes + (count * sizeof(int)) + 7) & ~7);
                }

                SendWhole(socket, &header, message.Length);
            }
        }
        finally
        {
            while (--count >= 0)
            {
                descriptors[count].DangerousRelease();
            }
        }
    }

    /// <summary>
    /// Receives the available bytes without waiting. Adds every received descriptor to <paramref name="descriptors"/>,
    /// also when it throws. The caller leaves them to <see cref="ForeignHandles"/>.
    /// </summary>
    /// <remarks>
    /// The bytes are read twice: first without taking them, so that the socket still holds what could not be received.
    /// Otherwise the kernel would close surplus descriptors in this very call, which then waits as long as a close.
    /// </remarks>
    /// <returns>The number of bytes; 0 if the peer has closed the socket; -1 if nothing is available yet.</returns>
    /// <exception cref="SegmentException">
    /// Descriptors could not be received: too many, or too few are free. Nothing was taken from the socket.
    /// </exception>
    public static int Receive(SafeHandle socket, Span<byte> buffer, List<SafeHandle> descriptors)
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
            int seen = Checked(LinuxNative.RecvMsg(
                socket, &header, MsgPeek | LinuxNative.MsgDontwait | MsgCmsgCloexec));
            if (seen <= 0)
            {
                return seen;
            }

            int before = descriptors.Count;
            TakeDescriptors(
                new ReadOnlySpan<byte>(control, (int)Math.Min(header.ControlLength, ControlBytes)), descriptors);
            if ((header.Flags & MsgCtrunc) != 0)
            {
                throw descriptors.Count - before == MaxDescriptors
                    ? new SegmentException($"The peer passed more than {MaxDescriptors} descriptors in one message.")
                    : new SegmentException("This process has no descriptor free to receive one.") { IsShortage = true };
            }

            // The same bytes, since their number is: this drops the socket's hold on the descriptors, never the last.
            return Checked(LinuxNative.Recv(socket, bytes, (nuint)seen, LinuxNative.MsgDontwait));
        }
    }

    /// <summary>
    /// Returns whether the peer has closed the socket, or the socket has failed, with no bytes left to receive. The
    /// check neither waits nor consumes bytes, so it may run while another thread receives.
    /// </summary>
    public static bool IsAtEnd(SafeHandle socket)
    {
        byte one;
        nint received = LinuxNative.Recv(socket, &one, 1, MsgPeek | LinuxNative.MsgDontwait);
        return received == 0
            || (received < 0
                && Marshal.GetLastPInvokeError() is not (LinuxNative.ErrnoEAGAIN or LinuxNative.ErrnoEINTR));
    }

    private static void SendWhole(SafeHandle socket, LinuxNative.MessageHeader* header, int length)
    {
        nint sent;
        do
        {
            sent = LinuxNative.SendMsg(socket, header, LinuxNative.MsgDontwait | LinuxNative.MsgNosignal);
        }
        while (sent < 0 && Marshal.GetLastPInvokeError() == LinuxNative.ErrnoEINTR);

        if (sent != length)
        {
            throw Failed(
                sent < 0 ? Marshal.GetLastPInvokeError() : 0,
                sent < 0 ? LinuxNative.LastErrorText() : $"only {sent} of {length} bytes were taken");
        }
    }

    private static Exception Failed(int errno, string why) => errno switch
    {
        LinuxNative.ErrnoETOOMANYREFS => new SegmentException(
            "Cannot pass descriptors to the other process: the processes of user "
            + $"{LinuxNative.GetEffectiveUserId()} have as many descriptors on their way through sockets as "
            + "one of them may open (ETOOMANYREFS). Find the process of this user that sends descriptors "
            + "nobody receives, or raise the limit of open files (ulimit -n).")
        {
            IsShortage = true,
        },
        LinuxNative.ErrnoEMFILE or LinuxNative.ErrnoENFILE or LinuxNative.ErrnoENOMEM or LinuxNative.ErrnoENOBUFS =>
            new SegmentException($"Cannot write the rendezvous socket: {why}.") { IsShortage = true },
        LinuxNative.ErrnoEBADF => new ObjectDisposedException(nameof(SafeHandle)),
        LinuxNative.ErrnoEAGAIN => new WireFullException($"Cannot write the rendezvous socket: {why}.", errno),
        _ => new IOException($"Cannot write the rendezvous socket: {why}.", errno),
    };

    private static int Checked(nint received)
    {
        if (received >= 0)
        {
            return (int)received;
        }

        return Marshal.GetLastPInvokeError() is LinuxNative.ErrnoEAGAIN or LinuxNative.ErrnoEINTR
            ? -1
            : throw new IOException($"Cannot read the rendezvous socket: {LinuxNative.LastErrorText()}.");
    }

    private static void TakeDescriptors(ReadOnlySpan<byte> control, List<SafeHandle> descriptors)
    {
        while (control.Length >= ControlHeaderBytes)
        {
            long length = BinaryPrimitives.ReadInt64LittleEndian(control);
            if (length < ControlHeaderBytes || length > control.Length)
            {
                return;
            }

            bool isRights = BinaryPrimitives.ReadInt32LittleEndian(control[8..]) == LinuxNative.SolSocket
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
