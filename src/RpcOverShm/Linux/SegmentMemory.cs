using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// Creates and seals anonymous memory files (memfd) for their owner; checks and maps them read-only for the peer. They
/// have no name that another process could squat, and need no cleanup: the kernel frees the memory with the last
/// descriptor and mapping.
/// </summary>
internal static unsafe class SegmentMemory
{
    private const int SealSeal = 0x1;
    private const int SealShrink = 0x2;
    private const int SealGrow = 0x4;
    private const int SealFutureWrite = 0x10;

    // Without these seals a peer could truncate the file, and an access to a missing page kills this process (SIGBUS).
    private const int RequiredSeals = SealSeal | SealShrink | SealGrow;

    // The seal against future writers (Linux 5.1). A probe that finds no descriptor free fails, and is made again.
    private static readonly Lazy<bool> s_hasFutureWriteSeal =
        new(HasFutureWriteSeal, LazyThreadSafetyMode.PublicationOnly);

    private static readonly Lazy<bool> s_canAllocateMapped =
        new(ProbePopulateWrite, LazyThreadSafetyMode.PublicationOnly);

    /// <summary>
    /// Whether nobody can write to a segment but through the mapping of its owner (Linux 5.1).
    /// </summary>
    public static bool IsSealedForOthers => s_hasFutureWriteSeal.Value;

    /// <summary>
    /// Whether a mapping can be given its memory later (Linux 5.14). The other ways are no ways once the peer has the
    /// descriptor: fallocate waits for a lock of the file that the peer can hold for as long as it likes, and a plain
    /// store kills the process if there is no memory.
    /// </summary>
    public static bool CanAllocateMapped => s_canAllocateMapped.Value;

    /// <summary>Creates a memory file whose first pages are allocated. The file is not sealed yet.</summary>
    /// <param name="sizeBytes">The size of the file.</param>
    /// <param name="allocatedBytes">The bytes from its start that have pages.</param>
    public static SafeFileHandle Create(long sizeBytes, long allocatedBytes)
    {
        SafeFileHandle descriptor = CreateEmpty();
        try
        {
            // Allocating the pages here turns a shortage of memory into an error code. Later it would be a SIGBUS.
            if (LinuxNative.FTruncate(descriptor, sizeBytes) != 0
                || LinuxNative.FAllocate(descriptor, 0, 0, allocatedBytes) != 0)
            {
                throw new SegmentException(
                    $"Cannot reserve {allocatedBytes} bytes of shared memory: {LinuxNative.LastErrorText()}.");
            }

            return descriptor;
        }
        catch
        {
            descriptor.Dispose();
            throw;
        }
    }

    /// <summary>Maps a segment of this process for writing.</summary>
    public static nint MapWritable(SafeFileHandle descriptor, long sizeBytes, long allocatedBytes)
    {
        bool isWhole = sizeBytes == allocatedBytes;
        nint address = Map(descriptor, sizeBytes, LinuxNative.ProtRead | LinuxNative.ProtWrite, isWhole);
        if (!isWhole)
        {
            // Only faster than a fault for each page: the file has them already.
            _ = LinuxNative.MAdvise(address, (nuint)allocatedBytes, LinuxNative.MadvPopulateWrite);
        }

        return address;
    }

    /// <summary>
    /// Gives pages of this process's mapping their memory. Returns null on success, else the system's reason. Needs
    /// <see cref="CanAllocateMapped"/>; waits for no lock that the peer can hold.
    /// </summary>
    public static string? TryAllocate(nint address, long sizeBytes) =>
        LinuxNative.MAdvise(address, (nuint)sizeBytes, LinuxNative.MadvPopulateWrite) == 0
            ? null
            : LinuxNative.LastErrorText();

    /// <summary>
    /// Seals a segment after its owner has mapped it: its size is fixed, and it cannot be mapped writable again.
    /// Linux before 5.1 lacks the seal against future writers. The peer can then write to the segment, which is safe:
    /// the owner never reads back from its own segment a word on which its safety depends. The seal also refuses holes:
    /// the owner cannot remove pages that the peer has mapped.
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
    /// Checks a descriptor that the peer passed and maps it read-only. The descriptor is not trusted: it must be a
    /// memory file, sealed against size changes and, if this kernel has that seal, against future writers; and it must
    /// be exactly as large as the peer announced. No page may be touched before <see cref="PeerPages.Take"/>.
    /// </summary>
    public static nint CheckAndMapReadOnly(SafeFileHandle descriptor, long announcedSizeBytes) =>
        CheckAndMapReadOnly(descriptor, announcedSizeBytes, s_hasFutureWriteSeal.Value);

    /// <summary>Does the same on a kernel with or without the seal against future writers.</summary>
    public static nint CheckAndMapReadOnly(
        SafeFileHandle descriptor, long announcedSizeBytes, bool isFutureWriteRequired)
    {
        // The seals come first: a file of FUSE has none, and a query of its facts may last as long as its owner likes.
        int required = RequiredSeals | (isFutureWriteRequired ? SealFutureWrite : 0);
        int seals = LinuxNative.FCntl(descriptor, LinuxNative.FGetSeals, 0);
        if (seals < 0)
        {
            throw new SegmentException("The peer passed a descriptor that is not a memory file (it has no seals).");
        }

        if ((seals & required) != required)
        {
            string names = isFutureWriteRequired ? "seal, shrink, grow, future write" : "seal, shrink, grow";
            throw new SegmentException(
                $"The peer's memory file carries seals 0x{seals:X}; 0x{required:X} ({names}) are required.");
        }

        FileFacts facts = FileFacts.OfDescriptor(descriptor);
        return facts.SizeBytes == announcedSizeBytes
            ? Map(descriptor, facts.SizeBytes, LinuxNative.ProtRead, isPopulated: false)
            : throw new SegmentException(
                $"The peer's memory file has {facts.SizeBytes} bytes; it announced {announcedSizeBytes}.");
    }

    public static void Unmap(nint address, long sizeBytes) => _ = LinuxNative.MUnmap(address, (nuint)sizeBytes);

    /// <summary>Creates a memory file without pages.</summary>
    public static SafeFileHandle CreateEmpty()
    {
        ReadOnlySpan<byte> name = "rpcovershm\0"u8;
        fixed (byte* namePointer = name)
        {
            // Linux 6.3 introduced the no-exec seal. A system can be configured to refuse memory files without this
            // flag (vm.memfd_noexec); older kernels refuse the flag.
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

    private static bool HasFutureWriteSeal()
    {
        using SafeFileHandle probe = CreateEmpty();
        return LinuxNative.FCntl(probe, LinuxNative.FAddSeals, SealFutureWrite) == 0;
    }

    private static bool ProbePopulateWrite()
    {
        // An older kernel does not know the advice and refuses it, whatever the range. An emulator of the processor
        // (qemu) ignores it; it accepts any advice, also one that no kernel knows.
        return LinuxNative.MAdvise(0, 0, LinuxNative.MadvPopulateWrite) == 0
            && LinuxNative.MAdvise(0, 0, LinuxNative.MadvUnknown) != 0;
    }

    private static nint Map(SafeFileHandle descriptor, long sizeBytes, int protection, bool isPopulated)
    {
        // Populating costs a tenth of faulting the same pages in one by one.
        int flags = LinuxNative.MapShared | (isPopulated ? LinuxNative.MapPopulate : 0);
        nint address = LinuxNative.MMap(0, (nuint)sizeBytes, protection, flags, descriptor, 0);
        if (address == -1)
        {
            throw new SegmentException(
                $"Cannot map {sizeBytes} bytes of shared memory: {LinuxNative.LastErrorText()}.");
        }

        // A forked child must not use its parent's connections.
        _ = LinuxNative.MAdvise(address, (nuint)sizeBytes, LinuxNative.MadvDontfork);

        // Messages are confidential. A dump of this process needs none of those that wait in a ring.
        _ = LinuxNative.MAdvise(address, (nuint)sizeBytes, LinuxNative.MadvDontdump);
        return address;
    }
}
