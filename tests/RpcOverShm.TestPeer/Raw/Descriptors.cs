using System.IO.Pipes;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using NUnit.Framework;
using RpcOverShm.Linux;

namespace RpcOverShm.TestPeer.Raw;

/// <summary>Creates descriptors of every kind that a peer might pass.</summary>
internal static unsafe partial class Descriptors
{
    /// <summary>The target of these memory files in /proc. Who counts the library's segments counts them too.</summary>
    public const string MemoryFileTarget = "memfd:rpcovershm-test";

    public const int SealSeal = 1;
    public const int SealShrink = 2;
    public const int SealGrow = 4;
    public const int SealFutureWrite = 16;
    public const int AllRequired = SealSeal | SealShrink | SealGrow | SealFutureWrite;

    /// <summary>Duplicates a descriptor of the same open file, as the peer receives it for a segment.</summary>
    public static SafeFileHandle Duplicate(SafeHandle descriptor)
    {
        int copy = Dup(descriptor);
        return copy >= 0
            ? new SafeFileHandle(copy, ownsHandle: true)
            : throw new IOException(LinuxNative.LastErrorText());
    }

    /// <summary>Creates a memory file of this size with these seals; all of it is allocated.</summary>
    public static SafeFileHandle MemoryFile(long sizeBytes, int seals) => MemoryFile(sizeBytes, seals, sizeBytes);

    /// <summary>Creates a memory file whose last bytes are a hole, unless all bytes are allocated.</summary>
    public static SafeFileHandle MemoryFile(long sizeBytes, int seals, long allocatedBytes, uint flags = 0)
    {
        nint descriptor;
        fixed (byte* name = "rpcovershm-test\0"u8)
        {
            descriptor = LinuxNative.MemfdCreate(
                SystemCallNumbers.MemfdCreate, name, LinuxNative.MfdCloexec | LinuxNative.MfdAllowSealing | flags);
        }

        var file = new SafeFileHandle(descriptor, ownsHandle: true);
        Assert.That(LinuxNative.FTruncate(file, sizeBytes), Is.Zero);
        Assert.That(allocatedBytes == 0 || LinuxNative.FAllocate(file, 0, 0, allocatedBytes) == 0);
        Assert.That(LinuxNative.FCntl(file, LinuxNative.FAddSeals, seals), Is.Zero);
        return file;
    }

    /// <summary>Creates a pipe and returns one end; the other is closed.</summary>
    public static SafeFileHandle Pipe()
    {
        using var pipe = new AnonymousPipeServerStream(PipeDirection.In);
        return Duplicate(pipe.SafePipeHandle);
    }

    /// <summary>Creates an unnamed file on disk of this size.</summary>
    public static SafeFileHandle OrdinaryFile(long sizeBytes)
    {
        string path = Path.GetTempFileName();
        SafeFileHandle file = File.OpenHandle(
            path, FileMode.Open, FileAccess.ReadWrite, FileShare.Delete | FileShare.ReadWrite);
        File.Delete(path);
        RandomAccess.SetLength(file, sizeBytes);
        return file;
    }

    [LibraryImport("libc", EntryPoint = "dup", SetLastError = true)]
    private static partial int Dup(SafeHandle descriptor);
}
