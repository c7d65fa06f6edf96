using System.Globalization;

namespace RpcOverShm.Segments;

/// <summary>
/// Finds the numbers of users and groups by their names, through the system's name service. A number stands for itself
/// and needs no entry there.
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

    /// <summary>Returns the user with this name or number; null if there is no such name.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public static uint? FindUser(string nameOrNumber) => Find(nameOrNumber, LinuxNative.GetUserByName);

    /// <summary>Returns the group with this name or number; null if there is no such name.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public static uint? FindGroup(string nameOrNumber) => Find(nameOrNumber, LinuxNative.GetGroupByName);

    private static uint? Find(string nameOrNumber, Lookup lookup)
    {
        if (uint.TryParse(nameOrNumber, NumberStyles.None, CultureInfo.InvariantCulture, out uint number))
        {
            return number == NoId ? null : number;
        }

        // The system's functions end a name at the first zero.
        return nameOrNumber.Length == 0 || nameOrNumber.Contains('\0') ? null : FindByName(nameOrNumber, lookup);
    }

    internal static uint? FindByName(string name, Lookup lookup)
    {
        byte* entry = stackalloc byte[EntryBytes];
        for (int size = FirstBufferBytes; size <= LastBufferBytes; size *= 4)
        {
            byte[] buffer = new byte[size];
            byte* found = null;
            int errno;
            do
            {
                fixed (byte* bytes = buffer)
                {
                    errno = lookup(name, entry, bytes, (nuint)size, &found);
                }
            }
            while (errno == LinuxNative.ErrnoEINTR);

            if (found is not null)
            {
                return *(uint*)(found + IdOffset);
            }

            // man getpwnam: "0 or ENOENT or ESRCH or EBADF or EPERM or ...: the given name was not found".
            if (errno is LinuxNative.ErrnoEIO or LinuxNative.ErrnoENOMEM or LinuxNative.ErrnoENFILE
                or LinuxNative.ErrnoEMFILE)
            {
                throw new IOException($"The system's name service failed: {LinuxNative.ErrorText(errno)}.");
            }

            if (errno != LinuxNative.ErrnoERANGE)
            {
                return null;
            }
        }

        throw new IOException($"The system's entry of '{name}' has more than {LastBufferBytes} bytes.");
    }
}
