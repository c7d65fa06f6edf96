using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>Handles as a peer gets them, and such as no honest peer passes.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe partial class Handles
{
    public const uint SectionReserve = 0x0400_0000;
    public const uint SectionImage = 0x0100_0000;
    public const uint SectionMapWrite = 0x2;

    private const nint MostValues = 0x4000; // of the handles that a run of the tests has at a time

    /// <summary>Duplicates a handle with the rights of a peer.</summary>
    public static KernelHandle OfPeer(SafeHandle handle) =>
        new((nint)PipePeer.Duplicate(handle, KernelHandle.OwnProcess));

    public static SafeHandle[] OfPeer(Signal signal) => [.. signal.Offer.Select(OfPeer)];

    /// <summary>Creates a section of the page file with other attributes than an honest one.</summary>
    public static KernelHandle Section(uint attributes, int bytes) => new(WindowsNative.CreateFileMappingW(
        WindowsNative.InvalidHandle, null, WindowsNative.PageReadWrite | attributes, 0, (uint)bytes, name: null));

    /// <summary>Creates a section of a file.</summary>
    public static KernelHandle SectionOf(FileStream file, uint attributes = 0) => new(WindowsNative.CreateFileMappingW(
        file.SafeFileHandle.DangerousGetHandle(), null, WindowsNative.PageReadOnly | attributes, 0, 0, name: null));

    /// <summary>Creates a semaphore of which each handle may have all rights.</summary>
    public static KernelHandle Semaphore() => new(WindowsNative.CreateSemaphoreW(null, 0, 1, name: null));

    /// <summary>Duplicates a handle with other rights.</summary>
    public static KernelHandle With(SafeHandle handle, uint rights) =>
        new(KernelHandle.Duplicate(handle, KernelHandle.OwnProcess, rights));

    /// <summary>Creates a handle of an object of this type.</summary>
    public static KernelHandle OfType(string type)
    {
        switch (type)
        {
            case "Event":
                return KernelHandle.CreateEvent();
            case "Semaphore":
                return Semaphore();
            case "Section":
                return Section(WindowsNative.SectionCommit, 4096);
            case "Process":
                return new(WindowsNative.OpenProcess(WindowsNative.Synchronize, 0, Environment.ProcessId));
            case "File":
                return new(WindowsNative.CreateFileW(
                    Environment.ProcessPath!, WindowsNative.FileReadData, 1, null, WindowsNative.OpenExisting, 0, 0));
            default:
                nint token;
                Assert.That(WindowsNative.OpenProcessToken(
                    KernelHandle.OwnProcess, WindowsNative.TokenQuery, &token), Is.Not.Zero);
                return new(token);
        }
    }

    /// <summary>Returns the number of handles that this process has of the same object.</summary>
    public static int CountOf(SafeHandle handle)
    {
        int count = 0;
        for (nint value = 4; value < MostValues; value += 4)
        {
            count += NtCompareObjects(handle.DangerousGetHandle(), value) == 0 ? 1 : 0;
        }

        return count;
    }

    [LibraryImport("ntdll")]
    private static partial int NtCompareObjects(nint one, nint other);

    /// <summary>Returns whether a handle can be duplicated so that it takes the wake-ups of a semaphore.</summary>
    public static bool CanTake(SafeHandle handle)
    {
        // Wine grants a right of the standard ones, asked for alone, whatever the object's list says.
        const uint Both = WindowsNative.Synchronize | WindowsNative.SemaphoreModifyState;
        return CanHave(handle, Both) || (!ProcessResources.IsWine && CanHave(handle, WindowsNative.Synchronize));
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
        using KernelHandle wider = With(handle, rights);
        return !wider.IsInvalid;
    }
}
