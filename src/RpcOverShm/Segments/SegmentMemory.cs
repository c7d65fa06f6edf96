using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>
/// Anonymous memory files: made, filled with pages and sealed by their owner; checked and mapped read-only by the peer.
/// There is no name to squat on and nothing to clean up: the kernel frees the memory with its last descriptor and
/// mapping. Holds no state.
/// </summary>
internal static unsafe class SegmentMemory
{
    private const int SealSeal = 0x1;
    private const int SealShrink = 0x2;
    private const int SealGrow = 0x4;
    private const int SealFutureWrite = 0x10;

    // Without these a peer could cut the file short, and touching a missing page kills this process (SIGBUS).
    private const int RequiredSeals = SealSeal | SealShrink | SealGrow;

    /// <summary>Makes a memory file of the given size with all its pages present. Not sealed yet.</summary>
    public static SafeFileHandle Create(long sizeBytes)
    {
        if (!OperatingSystem.IsLinux() || !SystemCallNumbers.AreKnown)
        {
            throw new SegmentException(
                $"Shared memory needs Linux on x64 or arm64; this is {RuntimeInformation.RuntimeIdentifier}.");
        }

        SafeFileHandle descriptor = CreateEmpty();
        try
        {
            // Reserving the pages here turns a shortage of memory into an error code; later it would be a SIGBUS.
            if (LinuxNative.FTruncate(descriptor, sizeBytes) != 0
                || LinuxNative.FAllocate(descriptor, 0, 0, sizeBytes) != 0)
            {
                throw new SegmentException(
                    $"Cannot reserve {sizeBytes} bytes of shared memory: {LinuxNative.LastErrorText()}.");
            }

            return descriptor;
        }
        catch
        {
            descriptor.Dispose();
            throw;
        }
    }

    /// <summary>Maps a segment of this process, to be written.</summary>
    public static nint MapWritable(SafeFileHandle descriptor, long sizeBytes) =>
        Map(descriptor, sizeBytes, LinuxNative.ProtRead | LinuxNative.ProtWrite);

    /// <summary>
    /// Seals a segment after its owner has mapped it: from here on nobody can change its size or map it writable anew.
    /// Kernels before 5.1 lack the seal against future writers; the segment is then writable by the peer, which the
    /// protocol survives, since no word that this process relies on for safety is ever read back from its own segment.
    /// </summary>
    public static void Seal(SafeFileHandle descriptor)
    {
        if (LinuxNative.FCntl(descriptor, LinuxNative.FAddSeals, RequiredSeals | SealFutureWrite) == 0)
        {
            return;
        }

        if (LinuxNative.FCntl(descriptor, LinuxNative.FAddSeals, RequiredSeals) != 0)
        {
            throw new SegmentException($"Cannot seal shared memory: {LinuxNative.LastErrorText()}.");
        }
    }

    /// <summary>
    /// Checks a descriptor that came from the peer and maps it read-only. Nothing of it is trusted: it must be a memory
    /// file, sealed against changing its size, and exactly as large as the peer has announced.
    /// </summary>
    public static nint CheckAndMapReadOnly(SafeFileHandle descriptor, long announcedSizeBytes)
    {
        int seals = LinuxNative.FCntl(descriptor, LinuxNative.FGetSeals, 0);
        if (seals < 0)
        {
            throw new SegmentException("The peer passed a descriptor that is not a memory file (it has no seals).");
        }

        if ((seals & RequiredSeals) != RequiredSeals)
        {
            throw new SegmentException(
                $"The peer's memory file carries seals 0x{seals:X}; "
                + $"0x{RequiredSeals:X} (seal, shrink, grow) are required.");
        }

        long sizeBytes = FileFacts.OfDescriptor(descriptor).SizeBytes;
        if (sizeBytes != announcedSizeBytes)
        {
            throw new SegmentException(
                $"The peer's memory file has {sizeBytes} bytes; it announced {announcedSizeBytes}.");
        }

        return Map(descriptor, sizeBytes, LinuxNative.ProtRead);
    }

    public static void Unmap(nint address, long sizeBytes) => _ = LinuxNative.MUnmap(address, (nuint)sizeBytes);

    private static SafeFileHandle CreateEmpty()
    {
        ReadOnlySpan<byte> name = "rpcovershm\0"u8;
        fixed (byte* namePointer = name)
        {
            // The no-exec seal came with Linux 6.3; kernels can be set to refuse memory files without it, older
            // ones refuse files with it.
            uint flags = LinuxNative.MfdCloexec | LinuxNative.MfdAllowSealing;
            nint result = LinuxNative.MemfdCreate(
                SystemCallNumbers.MemfdCreate, namePointer, flags | LinuxNative.MfdNoexecSeal);
            if (result < 0 && Marshal.GetLastPInvokeError() == LinuxNative.ErrnoEINVAL)
            {
                result = LinuxNative.MemfdCreate(SystemCallNumbers.MemfdCreate, namePointer, flags);
            }

            return result >= 0
                ? new SafeFileHandle(result, ownsHandle: true)
                : throw new SegmentException($"Cannot create shared memory: {LinuxNative.LastErrorText()}.");
        }
    }

    private static nint Map(SafeFileHandle descriptor, long sizeBytes, int protection)
    {
        // Populating costs a tenth of what the same pages cost when they are touched one by one.
        int flags = LinuxNative.MapShared | LinuxNative.MapPopulate;
        nint address = LinuxNative.MMap(0, (nuint)sizeBytes, protection, flags, descriptor, 0);
        if (address == -1)
        {
            throw new SegmentException(
                $"Cannot map {sizeBytes} bytes of shared memory: {LinuxNative.LastErrorText()}.");
        }

        // A forked child has no business with a connection of its parent.
        _ = LinuxNative.MAdvise(address, (nuint)sizeBytes, LinuxNative.MadvDontfork);
        return address;
    }
}
