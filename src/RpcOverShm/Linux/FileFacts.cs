using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Linux;

/// <summary>The metadata of a file as statx reports it: kind, permissions, owner, size and identity.</summary>
internal readonly record struct FileFacts(uint UserId, uint GroupId, ushort Mode, ulong Inode, ulong Device)
{
    private const int AtEmptyPath = 0x1000;
    private const int AtSymlinkNofollow = 0x100;
    private const uint BasicStats = 0x7FF;
    private const int BlockBytes = 512; // The unit of stx_blocks, on every file system.

    private const ushort KindMask = 0xF000;
    private const ushort KindSocket = 0xC000;
    private const ushort KindDirectory = 0x4000;
    private const ushort KindOrdinary = 0x8000;

    private static readonly SafeFileHandle s_currentDirectory = new(-100, ownsHandle: false); // AT_FDCWD

    /// <summary>The length of the file.</summary>
    public long SizeBytes { get; private init; }

    /// <summary>The memory or disk space that the file occupies; less than its size if it has holes.</summary>
    public long AllocatedBytes { get; private init; }

    /// <summary>The number of names of the file; 0 after its last one was removed.</summary>
    public uint LinkCount { get; private init; }

    public bool IsSocket => (Mode & KindMask) == KindSocket;

    public bool IsDirectory => (Mode & KindMask) == KindDirectory;

    /// <summary>Whether this is a regular file: no link, device or directory.</summary>
    public bool IsOrdinary => (Mode & KindMask) == KindOrdinary;

    /// <summary>Whether group or others have any permission on the file.</summary>
    public bool IsOpenToOthers => (Mode & 0x3F) != 0;

    /// <summary>Whether all users may write the file or, in a directory, remove the files of others.</summary>
    public bool IsWritableByAnyone => (Mode & 0x2) != 0 && (Mode & 0x200) == 0;

    public bool IsWritableByGroupOrOthers => (Mode & 0x12) != 0;

    public bool IsSearchableByOthers => (Mode & 0x1) != 0;

    public bool IsSearchableByGroup => (Mode & 0x8) != 0;

    /// <summary>The permission bits in octal, for messages.</summary>
    public string ModeText => Convert.ToString(Mode & 0xFFF, 8).PadLeft(4, '0');

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
    public static FileFacts OfDescriptor(SafeHandle descriptor) => Query(descriptor, [0], AtEmptyPath)
        ?? throw new IOException($"Cannot read the facts of a descriptor: {LinuxNative.LastErrorText()}.");

    private static unsafe FileFacts? Query(SafeHandle directory, ReadOnlySpan<byte> path, int flags)
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
        return new FileFacts(buffer.UserId, buffer.GroupId, buffer.Mode, buffer.Inode, device)
        {
            SizeBytes = (long)buffer.SizeBytes,
            AllocatedBytes = (long)buffer.Blocks * BlockBytes,
            LinkCount = buffer.LinkCount,
        };
    }
}
