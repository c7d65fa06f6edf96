using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Tests.Linux;

/// <summary>System calls on descriptors that a hostile or careless peer can make and the product never does.</summary>
internal static partial class NativeCalls
{
    public const int ErrnoEPERM = 1;
    public const int ErrnoEACCES = 13;

    public const int KeepSize = 1;
    public const int PunchHoleKeepSize = 2 | KeepSize;

    [LibraryImport("libc", EntryPoint = "mprotect", SetLastError = true)]
    public static partial int Protect(nint address, nuint length, int protection);

    [LibraryImport("libc", EntryPoint = "pwrite", SetLastError = true)]
    public static partial nint WriteAt(SafeFileHandle descriptor, ReadOnlySpan<byte> bytes, nint count, long offset);

    public const int MadvRemove = 9;
    public const int MadvHugePage = 14;
    public const int MadvPageOut = 21;
    public const uint MfdHugetlb = 4;

    [LibraryImport("libc", EntryPoint = "umask")]
    public static partial uint SetUmask(uint mask);

    [LibraryImport("libc", EntryPoint = "mkfifo", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int MakeFifo(string path, uint mode);

    [LibraryImport("libc", EntryPoint = "link", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int MakeHardLink(string file, string name);

    [LibraryImport("libc", EntryPoint = "sched_setaffinity", SetLastError = true)]
    private static partial int SetAffinity(int thread, nuint size, ReadOnlySpan<byte> mask);

    /// <summary>Keeps the current thread on one processor. It should be a thread that ends with the test.</summary>
    public static void StayOn(int processor)
    {
        byte[] mask = new byte[128];
        mask[processor / 8] = (byte)(1 << (processor % 8));
        Assert.That(SetAffinity(0, (nuint)mask.Length, mask), Is.Zero);
    }

    [LibraryImport("libc", EntryPoint = "chown", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int ChangeOwner(string path, uint user, uint group);
}
