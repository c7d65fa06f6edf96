using System.Diagnostics;
using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// Memory as a section without a name, which the system's page file backs. Its security descriptor grants nothing, so
/// nobody can give himself more rights than his handle has: the peer's may map it for reading. All pages have memory
/// from the start, and the system lets nobody take it away.
/// </summary>
internal sealed unsafe class SectionMemory : MappedMemory
{
    private const uint RightsOfPeer = WindowsNative.SectionMapRead | WindowsNative.SectionQuery;
    private const int BasicInformation = 0;

    // SEC_BASED, SEC_FILE, SEC_IMAGE, SEC_RESERVE, SEC_NOCACHE, SEC_WRITECOMBINE, SEC_LARGE_PAGES. A page of a file may
    // fail to be read, one that is reserved has no memory, and each of both ends the process.
    private const uint RefusedAttributes =
        0x0020_0000 | 0x0080_0000 | 0x0100_0000 | 0x0400_0000 | 0x1000_0000 | 0x4000_0000 | 0x8000_0000;

    private readonly SafeHandle _handle;

    private SectionMemory(nint address, long sizeBytes, SafeHandle handle)
        : base(address, sizeBytes) => _handle = handle;

    public override SafeHandle Handle => _handle.IsClosed
        ? throw new InvalidOperationException("The handle was passed and released.")
        : _handle;

    /// <summary>Creates a section of this process and maps it for writing.</summary>
    /// <exception cref="SegmentException">The system refused a step.</exception>
    public static SectionMemory Create(long sizeBytes)
    {
        WindowsNative.SecurityAttributes attributes = AccessDescriptor.OfNobody.Attributes;
        using var whole = new KernelHandle(WindowsNative.CreateFileMappingW(
            WindowsNative.InvalidHandle,
            &attributes,
            WindowsNative.PageReadWrite | WindowsNative.SectionCommit,
            (uint)(sizeBytes >> 32),
            unchecked((uint)sizeBytes),
            name: null));
        if (whole.IsInvalid)
        {
            throw Failed($"Cannot reserve {sizeBytes} bytes of shared memory");
        }

        nint address = Map(whole, WindowsNative.FileMapWrite, sizeBytes);

        // The handle that stays cannot map it for writing, and so can none that is made of it.
        nint readOnly = KernelHandle.Duplicate(whole, KernelHandle.OwnProcess, RightsOfPeer);
        if (readOnly == 0)
        {
            SegmentException failure = Failed("Cannot take the right to write from shared memory");
            _ = WindowsNative.UnmapViewOfFile(address);
            throw failure;
        }

        return new SectionMemory(address, sizeBytes, new KernelHandle(readOnly, RightsOfPeer));
    }

    /// <summary>
    /// Checks a handle that a peer has passed, which is not trusted, and maps its section for reading. Takes the handle
    /// over, also when it throws.
    /// </summary>
    /// <exception cref="SegmentException">The handle failed a check, or the mapping failed.</exception>
    public static SectionMemory Open(SafeHandle handle, long sizeBytes)
    {
        using (handle)
        {
            CheckSection(handle, sizeBytes);
            nint address = Map(handle, WindowsNative.FileMapRead, sizeBytes);
            try
            {
                CheckPages(address, sizeBytes);
                return new SectionMemory(address, sizeBytes, handle);
            }
            catch
            {
                _ = WindowsNative.UnmapViewOfFile(address);
                throw;
            }
        }
    }

    public override void ReleaseHandle() => _handle.Dispose();

    public override string? TryAllocateRest() => null;

    public override void CheckRest()
    {
        // All pages were checked when the section was opened, and none can lose its memory.
    }

    protected override void Unmap(nint address, long sizeBytes)
    {
        int isUnmapped = WindowsNative.UnmapViewOfFile(address);
        Debug.Assert(isUnmapped != 0, "The address is none of a mapping.");
    }

    private static void CheckSection(SafeHandle handle, long sizeBytes)
    {
        WindowsNative.SectionInformation facts;
        nuint bytes = (nuint)sizeof(WindowsNative.SectionInformation);
        if (WindowsNative.NtQuerySection(handle, BasicInformation, &facts, bytes, returned: 0) != 0)
        {
            throw new SegmentException("The peer passed a handle that is not of a section, or may not be asked about.");
        }

        if ((facts.Attributes & RefusedAttributes) != 0 || (facts.Attributes & WindowsNative.SectionCommit) == 0)
        {
            throw new SegmentException(
                $"The peer's section has attributes 0x{facts.Attributes:X}; memory of the page file, all of it "
                + $"committed (0x{WindowsNative.SectionCommit:X}), is required.");
        }

        // The system tells the size in whole pages.
        long inPages = InPages(sizeBytes);
        if (facts.SizeBytes != inPages)
        {
            throw new SegmentException(
                $"The peer's section has {facts.SizeBytes} bytes; it announced {sizeBytes}, "
                + $"which are {inPages} in pages.");
        }
    }

    private static void CheckPages(nint address, long sizeBytes)
    {
        WindowsNative.MemoryInformation region;
        if (WindowsNative.VirtualQuery(address, &region, (nuint)sizeof(WindowsNative.MemoryInformation)) == 0)
        {
            throw Failed("Cannot look at the peer's section");
        }

        if (region.Bytes < InPages(sizeBytes)
            || region.State != WindowsNative.MemoryCommit
            || region.Type != WindowsNative.MemoryMapped
            || region.Protection != WindowsNative.PageReadOnly)
        {
            throw new SegmentException(
                $"Of the peer's section, {region.Bytes} bytes are in state 0x{region.State:X} with protection "
                + $"0x{region.Protection:X}; all {sizeBytes} must be committed and readable.");
        }
    }

    private static nint Map(SafeHandle section, uint access, long sizeBytes)
    {
        nint address = WindowsNative.MapViewOfFile(section, access, 0, 0, (nuint)sizeBytes);
        return address != 0 ? address : throw Failed($"Cannot map {sizeBytes} bytes of shared memory");
    }

    private static long InPages(long sizeBytes)
    {
        long page = Environment.SystemPageSize;
        return (sizeBytes + page - 1) / page * page;
    }

    private static SegmentException Failed(string what)
    {
        int error = Marshal.GetLastPInvokeError();
        return new SegmentException($"{what}: {WindowsNative.ErrorText(error)}.")
        {
            IsShortage = WindowsNative.IsShortage(error),
        };
    }
}
