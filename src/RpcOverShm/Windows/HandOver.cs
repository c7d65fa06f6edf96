using System.Buffers.Binary;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// The values of handles before the first message of each side; the later ones have none. All fields are little-endian.
/// <code>
///   0  u32  'RSHW'
///   4  u8   bytes of a pointer
///   5  u8   number of handles
///   6  u16  0
///   8  i64  the value of each handle
/// </code>
/// A client sends its own values, and the server takes them out of the client's process. A server puts its handles into
/// the client's process first, and sends the values that they have there. The first handle is of the memory, the others
/// are of semaphores.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed class HandOver
{
    /// <summary>The most bytes before a message.</summary>
    public const int MostBytes = HeaderBytes + (MostHandles * sizeof(long));

    /// <summary>The names of the types of objects.</summary>
    public const string SectionType = "Section";
    public const string SemaphoreType = "Semaphore";

    private const int HeaderBytes = 8;
    private const int MostHandles = 8; // more than any valid message has
    private const uint Magic = 0x5748_5352;

    private readonly byte[] _bytes = new byte[MostBytes];
    private int _received;
    private int _needed = HeaderBytes;

    /// <summary>Whether all values have come.</summary>
    public bool IsComplete => _received == _needed;

    private int Count => (_needed - HeaderBytes) / sizeof(long);

    /// <summary>Writes the values before a message. Returns the number of bytes.</summary>
    public static int Write(ReadOnlySpan<long> values, Span<byte> prefix)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(prefix, Magic);
        prefix[4] = (byte)nint.Size;
        prefix[5] = (byte)values.Length;
        BinaryPrimitives.WriteUInt16LittleEndian(prefix[6..], 0);
        for (int i = 0; i < values.Length; i++)
        {
            BinaryPrimitives.WriteInt64LittleEndian(prefix[(HeaderBytes + (i * sizeof(long)))..], values[i]);
        }

        return HeaderBytes + (values.Length * sizeof(long));
    }

    /// <summary>Takes bytes that have come, as far as they belong before the message. Returns their number.</summary>
    /// <exception cref="ProtocolException">They are of no message of this library.</exception>
    /// <exception cref="SegmentException">The peer is a process of another bitness.</exception>
    public int Take(ReadOnlySpan<byte> bytes)
    {
        int taken = 0;
        while (!IsComplete && taken < bytes.Length)
        {
            int count = Math.Min(_needed - _received, bytes.Length - taken);
            bytes.Slice(taken, count).CopyTo(_bytes.AsSpan(_received));
            taken += count;
            _received += count;
            if (_received == HeaderBytes)
            {
                _needed = HeaderBytes + (CheckHeader() * sizeof(long));
            }
        }

        return taken;
    }

    /// <summary>Makes the values that have come to handles of this process.</summary>
    /// <param name="client">The client that has sent them; null if it was the server, which is trusted.</param>
    /// <param name="handles">Takes the handles.</param>
    /// <exception cref="SegmentException">A value is not of a handle that this side may take.</exception>
    public void Accept(PipePeer? client, List<SafeHandle> handles)
    {
        for (int i = 0; i < Count; i++)
        {
            long value = BinaryPrimitives.ReadInt64LittleEndian(_bytes.AsSpan(HeaderBytes + (i * sizeof(long))));

            // The values below are not of handles: they stand for the process and its thread, and for its tokens.
            if (value is <= 0 or > uint.MaxValue)
            {
                throw new SegmentException($"The peer passed the handle value {value}, which is none of a handle.");
            }

            string type = i == 0 ? SectionType : SemaphoreType;
            handles.Add(client is null ? Adopt((nint)value, type) : client.Pull((nint)value, type));
        }
    }

    // The server has made the handle in this process. One of another type is not closed: it is somebody else's.
    private static KernelHandle Adopt(nint value, string type)
    {
        string? found = KernelHandle.TypeOf(value);
        return found == type
            ? new KernelHandle(value)
            : throw new SegmentException($"The server passed a handle of the type {found ?? "none"}; {type} is right.");
    }

    private int CheckHeader()
    {
        int pointerBytes = _bytes[4];
        int count = _bytes[5];
        if (BinaryPrimitives.ReadUInt32LittleEndian(_bytes) != Magic
            || BinaryPrimitives.ReadUInt16LittleEndian(_bytes.AsSpan(6)) != 0)
        {
            throw new ProtocolException("The other side does not begin with the handles of a handshake message.");
        }

        if (pointerBytes != nint.Size)
        {
            throw new SegmentException(
                $"The other side is a process of {pointerBytes * 8} bits, and this one has {nint.Size * 8}: "
                + "run both with the same bitness.");
        }

        return count <= MostHandles
            ? count
            : throw new ProtocolException(
                $"{count} handles came with a handshake message; at most {MostHandles} are allowed.");
    }
}
