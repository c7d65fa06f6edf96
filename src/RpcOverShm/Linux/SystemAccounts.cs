using System.Globalization;
using System.Runtime.InteropServices;

namespace RpcOverShm.Linux;

/// <summary>
/// Finds the numbers of users and groups by their names, and names of users, through the system's name service. A
/// number stands for itself and needs no entry there. The name service may be remote, so each method may block.
/// </summary>
internal static unsafe class SystemAccounts
{
    // The user and group number (uid_t)-1 means "no change" to chown, so nobody can have it.
    private const uint NoId = uint.MaxValue;

    // The offset of pw_uid and of gr_gid: behind two pointers, in glibc and musl on 64-bit systems.
    private const int IdOffset = 16;

    // struct passwd has 48 bytes, struct group 32.
    private const int EntryBytes = 64;
    private const int FirstBufferBytes = 1024;

    // A group with many members needs a large buffer.
    private const int LastBufferBytes = 16 << 20;

    internal delegate int Lookup(string name, byte* entry, byte* buffer, nuint length, byte** found);

    private delegate int Search(byte* entry, byte* buffer, nuint length, byte** found);

    private delegate T? Read<T>(byte* found);

    /// <summary>Returns the user with this name or number; null if there is no such name.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public static uint? FindUser(string nameOrNumber) => Find(nameOrNumber, LinuxNative.GetUserByName);

    /// <summary>Returns the group with this name or number; null if there is no such name.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public static uint? FindGroup(string nameOrNumber) => Find(nameOrNumber, LinuxNative.GetGroupByName);

    /// <summary>Returns the name of a user; null if the system has none.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public static string? NameOfUser(uint user) => Find(
        $"user {user}",
        (entry, buffer, length, found) => LinuxNative.GetUserById(user, entry, buffer, length, found),
        static found => Marshal.PtrToStringUTF8(*(nint*)found));

    private static uint? Find(string nameOrNumber, Lookup lookup)
    {
        if (uint.TryParse(nameOrNumber, NumberStyles.None, CultureInfo.InvariantCulture, out uint number))
        {
            return number == NoId ? null : number;
        }

        // The system's functions end a name at the first zero.
        return nameOrNumber.Length == 0 || nameOrNumber.Contains('\0') ? null : FindByName(nameOrNumber, lookup);
    }

    internal static uint? FindByName(string name, Lookup lookup) => Find(
        $"'{name}'",
        (entry, buffer, length, found) => lookup(name, entry, buffer, length, found),
        static found => (uint?)*(uint*)(found + IdOffset));

    private static T? Find<T>(string what, Search search, Read<T> read)
    {
        byte* entry = stackalloc byte[EntryBytes];
        for (int size = FirstBufferBytes; size <= LastBufferBytes; size *= 4)
        {
            byte* found = null;
            int errno;
            fixed (byte* bytes = new byte[size])
            {
                do
                {
                    errno = search(entry, bytes, (nuint)size, &found);
                }
                while (errno == LinuxNative.ErrnoEINTR);

                if (found is not null)
                {
                    return read(found);
                }
            }

            // man getpwnam: "0 or ENOENT or ESRCH or EBADF or EPERM or ...: the given name was not found".
            if (errno is LinuxNative.ErrnoEIO or LinuxNative.ErrnoENOMEM or LinuxNative.ErrnoENFILE
                or LinuxNative.ErrnoEMFILE)
            {
                throw new IOException($"The system's name service failed: {LinuxNative.ErrorText(errno)}.");
            }

            if (errno != LinuxNative.ErrnoERANGE)
            {
                return default;
            }
        }

        throw new IOException($"The system's entry of {what} has more than {LastBufferBytes} bytes.");
    }
}
