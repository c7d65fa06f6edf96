using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>Handles as a peer gets them, and such as no honest peer passes.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe class Handles
{
    public const uint SectionReserve = 0x0400_0000;
    public const uint SectionMapWrite = 0x2;

    /// <summary>Whether the system is Wine, which does not check rights of pipes and their first instances.</summary>
    public static bool IsWine { get; } =
        NativeLibrary.TryGetExport(NativeLibrary.Load("ntdll"), "wine_get_version", out _);

    /// <summary>Duplicates a handle with the rights of a peer.</summary>
    public static KernelHandle OfPeer(SafeHandle handle) => new((nint)PipePeer.Duplicate(handle, target: null));

    public static SafeHandle[] OfPeer(Signal signal) => [.. signal.Offer.Select(OfPeer)];

    /// <summary>Creates a section of the page file with other attributes than an honest one.</summary>
    public static KernelHandle Section(uint attributes, int bytes) => new(WindowsNative.CreateFileMappingW(
        WindowsNative.InvalidHandle, null, WindowsNative.PageReadWrite | attributes, 0, (uint)bytes, name: null));

    /// <summary>Creates a section of a file.</summary>
    public static KernelHandle SectionOf(FileStream file) => new(WindowsNative.CreateFileMappingW(
        file.SafeFileHandle.DangerousGetHandle(), null, WindowsNative.PageReadOnly, 0, 0, name: null));

    /// <summary>Returns whether a handle can be duplicated so that it takes the wake-ups of a semaphore.</summary>
    public static bool CanTake(SafeHandle handle)
    {
        // Wine grants a right of the standard ones, asked for alone, whatever the object's list says.
        const uint Both = WindowsNative.Synchronize | WindowsNative.SemaphoreModifyState;
        return CanHave(handle, Both) || (!IsWine && CanHave(handle, WindowsNative.Synchronize));
    }

    /// <summary>Writes bytes to the pipe of a wire, past its messages.</summary>
    public static void SendRaw(Wire wire, ReadOnlySpan<byte> bytes)
    {
        using var operation = new PipeOperation(bytes.Length);
        bytes.CopyTo(operation.Buffer);
        Assert.That(operation.Write(wire.Handle, bytes.Length, completion: 0), Is.Zero);
        Assert.That(operation.IsPending, Is.False);
    }

    /// <summary>Returns whether a handle can be duplicated with these rights.</summary>
    public static bool CanHave(SafeHandle handle, uint rights)
    {
        using var wider = new KernelHandle(
            KernelHandle.Duplicate(null, handle.DangerousGetHandle(), null, rights));
        return !wider.IsInvalid;
    }
}
