using System.Globalization;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Linux;

/// <summary>
/// A file or directory that a descriptor holds without opening it (O_PATH). Its permissions are changed through the
/// descriptor, so nobody can put another file at the path meanwhile. While the file is held, no other file gets its
/// inode number.
/// </summary>
internal sealed class PinnedFile : IDisposable
{
    private readonly string _path;
    private readonly SafeFileHandle _descriptor;

    private PinnedFile(string path, SafeFileHandle descriptor)
    {
        _path = path;
        _descriptor = descriptor;
    }

    /// <summary>The metadata of the file at this moment.</summary>
    public FileFacts Facts => FileFacts.OfDescriptor(_descriptor);

    // The calls that change permissions refuse such a descriptor, but follow this link to its file.
    private string Link => string.Create(
        CultureInfo.InvariantCulture, $"/proc/self/fd/{_descriptor.DangerousGetHandle()}");

    /// <summary>Holds the file at a path; a link at its end is not followed.</summary>
    /// <exception cref="IOException">There is no file, or its directory may not be searched.</exception>
    public static PinnedFile Open(string path)
    {
        int descriptor = LinuxNative.Open(
            path, LinuxNative.OPath | LinuxNative.ONofollow | LinuxNative.OCloexec, 0);
        return descriptor >= 0
            ? new PinnedFile(path, new SafeFileHandle(descriptor, ownsHandle: true))
            : throw new IOException($"Cannot hold '{path}': {LinuxNative.LastErrorText()}.");
    }

    /// <summary>Changes the group of the file.</summary>
    /// <exception cref="IOException">The system refused it; the message says what is needed.</exception>
    public void SetGroup(uint group)
    {
        const uint Unchanged = uint.MaxValue;
        if (Facts.GroupId != group && LinuxNative.ChOwn(Link, Unchanged, group) != 0)
        {
            throw new IOException(
                $"Cannot give '{_path}' to group {group}: {LinuxNative.LastErrorText()}. "
                + "The server's user must be root or a member of this group.");
        }
    }

    /// <summary>Changes the permission bits of the file.</summary>
    /// <exception cref="IOException">The system refused it.</exception>
    public void SetMode(uint mode)
    {
        const uint Permissions = 0xFFF;
        if ((Facts.Mode & Permissions) != mode && LinuxNative.ChMod(Link, mode) != 0)
        {
            throw new IOException(
                $"Cannot change the mode of '{_path}': {LinuxNative.LastErrorText()}. This needs /proc.");
        }
    }

    public void Dispose() => _descriptor.Dispose();
}
