using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>The metadata of a file as statx reports it: kind, permissions, owner, size and identity.</summary>
internal readonly record struct FileFacts(uint UserId, ushort Mode, long SizeBytes, ulong Inode, ulong Device)
{
    private const int AtEmptyPath = 0x1000;
    private const int AtSymlinkNofollow = 0x100;
    private const uint BasicStats = 0x7FF;

    private const ushort KindMask = 0xF000;
    private const ushort KindSocket = 0xC000;
    private const ushort KindDirectory = 0x4000;
    private const ushort KindOrdinary = 0x8000;

    private static readonly SafeFileHandle s_currentDirectory = new(-100, ownsHandle: false); // AT_FDCWD

    public bool IsSocket => (Mode & KindMask) == KindSocket;

    public bool IsDirectory => (Mode & KindMask) == KindDirectory;

    /// <summary>Whether this is a regular file: no link, device or directory.</summary>
    public bool IsOrdinary => (Mode & KindMask) == KindOrdinary;

    /// <summary>Whether group or others have any permission on the file.</summary>
    public bool IsOpenToOthers => (Mode & 0x3F) != 0;

    /// <summary>Returns whether both describe the same file, under any name: equal inode and device.</summary>
    public bool IsSameFileAs(in FileFacts other) => Inode == other.Inode && Device == other.Device;

    /// <summary>Queries a path without following a link at its end. Returns null if the path does not exist.</summary>
    public static FileFacts? OfPath(string path)
    {
        byte[] utf8 = Encoding.UTF8.GetBytes(path + '\0');
        FileFacts? facts = Query(s_currentDirectory, utf8, AtSymlinkNofollow);
        if (facts is null && Marshal.GetLastPInvokeError() is not LinuxNative.ErrnoENOENT)
        {
            throw new IOException($"Cannot read the facts of '{path}': {LinuxNative.LastErrorText()}.");
        }

        return facts;
    }

    /// <summary>Queries an open descriptor.</summary>
    public static FileFacts OfDescriptor(SafeFileHandle descriptor) => Query(descriptor, [0], AtEmptyPath)
        ?? throw new IOException($"Cannot read the facts of a descriptor: {LinuxNative.LastErrorText()}.");

    private static unsafe FileFacts? Query(SafeFileHandle directory, ReadOnlySpan<byte> path, int flags)
    {
        var buffer = default(LinuxNative.StatxBuffer);
        fixed (byte* name = path)
        {
            if (LinuxNative.Statx(SystemCallNumbers.Statx, directory, name, flags, BasicStats, &buffer) != 0)
            {
                return null;
            }
        }

        ulong device = ((ulong)buffer.DeviceMajor << 32) | buffer.DeviceMinor;
        return new FileFacts(buffer.UserId, buffer.Mode, (long)buffer.SizeBytes, buffer.Inode, device);
    }
}
