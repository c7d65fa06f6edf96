using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The exclusive right to serve at an address: a file lock, which the kernel releases when the process dies. The
/// process id in the file only serves error messages.
/// </summary>
internal sealed class RendezvousLock : IDisposable
{
    private const int ErrnoEWOULDBLOCK = LinuxNative.ErrnoEAGAIN;
    private const int OwnerReadWrite = 0x180; // 0600

    private readonly string _path;
    private readonly SafeFileHandle _file;

    private RendezvousLock(string path, SafeFileHandle file)
    {
        _path = path;
        _file = file;
    }

    /// <summary>
    /// Takes the lock. If another live server holds it, returns null and that server's process id, if the file has it.
    /// </summary>
    /// <exception cref="IOException">
    /// The lock file cannot be opened or locked, or is not an ordinary file of this user with one name.
    /// </exception>
    public static RendezvousLock? TryTake(string path, out int? holderProcessId)
    {
        holderProcessId = null;
        while (true)
        {
            SafeFileHandle file = Open(path);
            try
            {
                CheckOwn(FileFacts.OfDescriptor(file), path);
                if (LinuxNative.FLock(file, LinuxNative.LockExclusiveNonBlocking) != 0)
                {
                    bool isHeld = Marshal.GetLastPInvokeError() == ErrnoEWOULDBLOCK;
                    holderProcessId = isHeld ? ReadProcessId(file) : null;
                    file.Dispose();
                    return isHeld
                        ? null
                        : throw new IOException($"Cannot lock '{path}': {LinuxNative.LastErrorText()}.");
                }

                // The last holder may have removed the file between open and lock. A lock on an unlinked file excludes
                // no other server, since the next one creates a new file; then try again.
                if (FileFacts.OfPath(path) is { } found && found.IsSameFileAs(FileFacts.OfDescriptor(file)))
                {
                    WriteProcessId(file);
                    return new RendezvousLock(path, file);
                }
            }
            catch
            {
                file.Dispose();
                throw;
            }

            file.Dispose();
        }
    }

    /// <summary>
    /// Removes the file and then releases the lock. The reverse order could remove the file of a new server.
    /// </summary>
    public void Dispose()
    {
        if (!_file.IsClosed)
        {
            RuntimeDirectory.Remove(_path, FileFacts.OfDescriptor(_file));
            _file.Dispose();
        }
    }

    private static SafeFileHandle Open(string path)
    {
        // A link would let its owner choose the file that this server creates and writes.
        int flags = LinuxNative.ORdwr | LinuxNative.OCreat | LinuxNative.OCloexec | LinuxNative.ONofollow;
        int descriptor = LinuxNative.Open(path, flags, OwnerReadWrite);
        if (descriptor >= 0)
        {
            return new SafeFileHandle(descriptor, ownsHandle: true);
        }

        throw new IOException(
            Marshal.GetLastPInvokeError() == LinuxNative.ErrnoELOOP
                ? $"The lock file '{path}' is a link; it was left alone. Remove it."
                : $"Cannot open the lock file '{path}': {LinuxNative.LastErrorText()}.");
    }

    // Another user's file could be locked by that user at any time, and a second name could stand for any file. A file
    // without a name is one that the last holder has just removed.
    private static void CheckOwn(in FileFacts file, string path)
    {
        uint me = LinuxNative.GetEffectiveUserId();
        if (!file.IsOrdinary || file.UserId != me || file.LinkCount > 1)
        {
            throw new IOException(
                $"The lock file '{path}' must be an ordinary file of user {me} with one name; it belongs to user "
                + $"{file.UserId} and has {file.LinkCount} names. It was left alone. Remove it.");
        }
    }

    private static void WriteProcessId(SafeFileHandle file)
    {
        byte[] text = Encoding.ASCII.GetBytes(Environment.ProcessId.ToString(CultureInfo.InvariantCulture) + "\n");
        _ = LinuxNative.FTruncate(file, 0);
        RandomAccess.Write(file, text, 0);
    }

    private static int? ReadProcessId(SafeFileHandle file)
    {
        Span<byte> text = stackalloc byte[16];
        int length = RandomAccess.Read(file, text, 0);
        return int.TryParse(Encoding.ASCII.GetString(text[..length]), CultureInfo.InvariantCulture, out int id)
            ? id
            : null;
    }
}
