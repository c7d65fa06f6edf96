using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The right to serve at an address: a lock that the kernel holds for the process and takes back when it dies. What
/// else stands in the file (the process id) is for people.
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
    /// Takes the lock, or returns null when another live server holds it, with its process id if it says so.
    /// </summary>
    /// <exception cref="IOException">The lock file cannot be opened or locked.</exception>
    public static RendezvousLock? TryTake(string path, out int? holderProcessId)
    {
        holderProcessId = null;
        while (true)
        {
            SafeFileHandle file = Open(path);
            try
            {
                if (LinuxNative.FLock(file, LinuxNative.LockExclusiveNonBlocking) != 0)
                {
                    bool isHeld = Marshal.GetLastPInvokeError() == ErrnoEWOULDBLOCK;
                    holderProcessId = isHeld ? ReadProcessId(file) : null;
                    file.Dispose();
                    return isHeld
                        ? null
                        : throw new IOException($"Cannot lock '{path}': {LinuxNative.LastErrorText()}.");
                }

                // The last holder may have removed the file between the opening and the locking: a lock on a file
                // without a name keeps nobody out, since the next server makes a new one.
                FileFacts? named = FileFacts.OfPath(path);
                if (named is { IsOrdinary: false })
                {
                    // What is opened through a link never is the file that has the name.
                    throw new IOException($"The lock file '{path}' is a link or no file at all; it was left alone.");
                }

                if (named is { } found && found.IsSameFileAs(FileFacts.OfDescriptor(file)))
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
    /// Removes the file, then lets go of the lock: in this order, or a new server's file could be removed.
    /// </summary>
    public void Dispose()
    {
        if (!_file.IsClosed)
        {
            RuntimeDirectory.Remove(_path);
            _file.Dispose();
        }
    }

    private static SafeFileHandle Open(string path)
    {
        int descriptor = LinuxNative.Open(
            path, LinuxNative.ORdwr | LinuxNative.OCreat | LinuxNative.OCloexec, OwnerReadWrite);
        return descriptor >= 0
            ? new SafeFileHandle(descriptor, ownsHandle: true)
            : throw new IOException($"Cannot open the lock file '{path}': {LinuxNative.LastErrorText()}.");
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
