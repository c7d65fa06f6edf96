using System.IO.Pipes;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Segments;

/// <summary>Descriptors of every kind that a peer might pass.</summary>
internal static unsafe class Descriptors
{
    public const int SealSeal = 1;
    public const int SealShrink = 2;
    public const int SealGrow = 4;
    public const int AllRequired = SealSeal | SealShrink | SealGrow;

    /// <summary>A second descriptor of the same open file: what the peer gets of a segment.</summary>
    public static SafeFileHandle Duplicate(SafeHandle descriptor)
    {
        int copy = NativeCalls.Duplicate(descriptor);
        return copy >= 0
            ? new SafeFileHandle(copy, ownsHandle: true)
            : throw new IOException(LinuxNative.LastErrorText());
    }

    /// <summary>A memory file of this size with these seals.</summary>
    public static SafeFileHandle MemoryFile(long sizeBytes, int seals)
    {
        nint descriptor;
        fixed (byte* name = "test\0"u8)
        {
            descriptor = LinuxNative.MemfdCreate(
                SystemCallNumbers.MemfdCreate, name, LinuxNative.MfdCloexec | LinuxNative.MfdAllowSealing);
        }

        var file = new SafeFileHandle(descriptor, ownsHandle: true);
        Assert.That(LinuxNative.FTruncate(file, sizeBytes), Is.Zero);
        Assert.That(LinuxNative.FCntl(file, LinuxNative.FAddSeals, seals), Is.Zero);
        return file;
    }

    /// <summary>One end of a pipe; the other is closed.</summary>
    public static SafeFileHandle Pipe()
    {
        using var pipe = new AnonymousPipeServerStream(PipeDirection.In);
        return Duplicate(pipe.SafePipeHandle);
    }

    /// <summary>A file on disk of this size, without a name.</summary>
    public static SafeFileHandle OrdinaryFile(long sizeBytes)
    {
        string path = Path.GetTempFileName();
        SafeFileHandle file = File.OpenHandle(
            path, FileMode.Open, FileAccess.ReadWrite, FileShare.Delete | FileShare.ReadWrite);
        File.Delete(path);
        RandomAccess.SetLength(file, sizeBytes);
        return file;
    }
}
