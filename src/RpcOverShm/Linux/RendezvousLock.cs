using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Protocol;

namespace RpcOverShm.Linux;

/// <summary>
/// The exclusive right to serve at an address: a file lock, which the kernel releases when the process dies. The
/// process id and the version in the file only serve messages and lists.
/// </summary>
internal sealed class RendezvousLock : IDisposable
{
    private const int ErrnoEWOULDBLOCK = LinuxNative.ErrnoEAGAIN;
    private const int OwnerReadWrite = 0x180; // 0600
    private const int PermissionBits = 0xFFF;
    private const int MaxFileBytes = 128;

    private readonly string _path;
    private readonly SafeFileHandle _file;
    private readonly FileFacts _facts;

    private RendezvousLock(string path, SafeFileHandle file)
    {
        _path = path;
        _file = file;
        _facts = FileFacts.OfDescriptor(file);
    }

    /// <summary>
    /// Takes the lock. If another process holds it, returns null and that process's id, if the file has it.
    /// </summary>
    /// <exception cref="IOException">
    /// The lock file cannot be opened or locked, or is not an ordinary file of this user with one name.
    /// </exception>
    public static RendezvousLock? TryTake(string path, out int? holderProcessId)
    {
        holderProcessId = null;
        while (true)
        {
            SafeFileHandle file = Open(path, LinuxNative.OCreat) ?? throw OpenFailed(path);
            try
            {
                CheckOwn(FileFacts.OfDescriptor(file), path);
                if (!TryLock(file, path))
                {
                    holderProcessId = ReadHolder(file).ProcessId;
                    file.Dispose();
                    return null;
                }

                // The last holder may have removed the file between open and lock. A lock on an unlinked file excludes
                // no other server, since the next one creates a new file; then try again.
                var taken = new RendezvousLock(path, file);
                if (taken.IsAt(path))
                {
                    WriteHolder(file);
                    return taken;
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
    /// Takes the lock of a server that died, to remove its files. Makes no file. Returns null if there is no lock file,
    /// somebody holds it, or it does not look as this class makes it.
    /// </summary>
    public static RendezvousLock? TryTakeLeftBehind(string path)
    {
        if (Open(path, furtherFlags: 0) is not { } file)
        {
            return null;
        }

        try
        {
            FileFacts facts = FileFacts.OfDescriptor(file);
            if (IsOwn(facts)
                && (facts.Mode & PermissionBits) == OwnerReadWrite
                && (facts.SizeBytes == 0 || (facts.SizeBytes < MaxFileBytes && ReadHolder(file) != default))
                && TryLock(file, path)
                && new RendezvousLock(path, file) is var taken
                && taken.IsAt(path))
            {
                return taken;
            }
        }
        catch (IOException)
        {
            // The file cannot be locked.
        }

        file.Dispose();
        return null;
    }

    /// <summary>
    /// Returns the contents of a lock file, whether or not its process lives; nothing if there is none. Leaves the lock
    /// alone.
    /// </summary>
    public static LockHolder HolderOf(string path)
    {
        using SafeFileHandle? file = Open(path, furtherFlags: 0);
        return file is null ? default : ReadHolder(file);
    }

    /// <summary>Returns whether a path names the locked file.</summary>
    /// <exception cref="IOException">The directory may not be searched.</exception>
    public bool IsAt(string path) => FileFacts.OfPath(path) is { } found && found.IsSameFileAs(_facts);

    /// <summary>
    /// Removes the file and then releases the lock. The reverse order could remove the file of a new server.
    /// </summary>
    public void Dispose()
    {
        if (!_file.IsClosed)
        {
            RuntimeDirectory.Remove(_path, _facts);
            _file.Dispose();
        }
    }

    // A link would let its owner choose the file that this server creates and writes. Another user's file may have a
    // lease, whose end the open would wait for.
    private static SafeFileHandle? Open(string path, int furtherFlags)
    {
        int flags = LinuxNative.ORdwr | LinuxNative.OCloexec | LinuxNative.ONofollow | LinuxNative.ONonblock
            | furtherFlags;
        int descriptor = LinuxNative.Open(path, flags, OwnerReadWrite);
        return descriptor < 0 ? null : new SafeFileHandle(descriptor, ownsHandle: true);
    }

    private static IOException OpenFailed(string path) => new(
        Marshal.GetLastPInvokeError() == LinuxNative.ErrnoELOOP
            ? $"The lock file '{path}' is a link; it was left alone. Remove it."
            : $"Cannot open the lock file '{path}': {LinuxNative.LastErrorText()}.");

    private static void CheckOwn(in FileFacts file, string path)
    {
        if (!IsOwn(file))
        {
            throw new IOException(
                $"The lock file '{path}' must be an ordinary file of user {LinuxNative.GetEffectiveUserId()} with one "
                + $"name; it belongs to user {file.UserId} and has {file.LinkCount} names. It was left alone. Remove "
                + "it.");
        }
    }

    // Another user's file could be locked by that user at any time, and a second name could stand for any file. A file
    // without a name is one that the last holder has just removed.
    private static bool IsOwn(in FileFacts file) =>
        file.IsOrdinary && file.UserId == LinuxNative.GetEffectiveUserId() && file.LinkCount <= 1;

    /// <summary>Returns false if another process holds the lock.</summary>
    private static bool TryLock(SafeFileHandle file, string path)
    {
        if (LinuxNative.FLock(file, LinuxNative.LockExclusiveNonBlocking) == 0)
        {
            return true;
        }

        return Marshal.GetLastPInvokeError() == ErrnoEWOULDBLOCK
            ? false
            : throw new IOException($"Cannot lock '{path}': {LinuxNative.LastErrorText()}.");
    }

    // The lock alone decides. A file system that is full, or that fails otherwise, costs the messages of others the
    // process id, and nothing else.
    private static void WriteHolder(SafeFileHandle file)
    {
        byte[] text = Encoding.ASCII.GetBytes(
            string.Create(CultureInfo.InvariantCulture, $"{Environment.ProcessId}\n{ProtocolVersion.Library}\n"));
        try
        {
            _ = LinuxNative.FTruncate(file, 0);
            RandomAccess.Write(file, text.AsSpan(0, Math.Min(text.Length, MaxFileBytes - 1)), 0);
        }
        catch (IOException)
        {
            // Part of the id would be another id.
            _ = LinuxNative.FTruncate(file, 0);
        }
    }

    // The id in the first line, and the library's version in the second.
    private static LockHolder ReadHolder(SafeFileHandle file)
    {
        Span<byte> bytes = stackalloc byte[MaxFileBytes];
        try
        {
            int length = RandomAccess.Read(file, bytes, 0);
            string[] lines = Encoding.ASCII.GetString(bytes[..length]).TrimEnd('\n').Split('\n');
            return lines.Length <= 2
                && (lines.Length < 2 || lines[1].All(static letter => char.IsAsciiDigit(letter) || letter == '.'))
                && int.TryParse(lines[0], NumberStyles.None, CultureInfo.InvariantCulture, out int id)
                ? new LockHolder(id, lines.Length > 1 ? lines[1] : null)
                : default;
        }
        catch (IOException)
        {
            return default;
        }
    }
}

/// <summary>The contents of a lock file.</summary>
/// <param name="ProcessId">The id of the server's process; null if the file has none.</param>
/// <param name="Version">The version of its library; null if the file has none.</param>
internal readonly record struct LockHolder(int? ProcessId, string? Version);
