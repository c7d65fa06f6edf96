using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Linux;

/// <summary>
/// Declares the libc functions that .NET does not offer, with blittable signatures. Variadic C functions are declared
/// with the arguments that are passed: Linux on x64 and arm64 passes variadic integers in registers like all others
/// (Apple arm64 does not). No function has SuppressGCTransition, because they may block or take a kernel lock.
/// </summary>
internal static unsafe partial class LinuxNative
{
    public const int ErrnoEINTR = 4;
    public const int ErrnoEIO = 5;
    public const int ErrnoEBADF = 9;
    public const int ErrnoEAGAIN = 11;
    public const int ErrnoEEXIST = 17;
    public const int ErrnoEINVAL = 22;
    public const int ErrnoENOENT = 2;
    public const int ErrnoENFILE = 23;
    public const int ErrnoEMFILE = 24;
    public const int ErrnoENOBUFS = 105;
    public const int ErrnoENOMEM = 12;
    public const int ErrnoERANGE = 34;
    public const int ErrnoELOOP = 40;
    public const int ErrnoEPROTOTYPE = 91;
    public const int ErrnoETOOMANYREFS = 109;
    public const int ErrnoECONNREFUSED = 111;

    public const uint MfdCloexec = 1;
    public const uint MfdAllowSealing = 2;
    public const uint MfdNoexecSeal = 8;

    public const int FDuplicateCloexec = 1030;
    public const int FAddSeals = 1033;
    public const int FGetSeals = 1034;

    public const int ProtRead = 1;
    public const int ProtWrite = 2;
    public const int MapShared = 0x1;
    public const int MapPopulate = 0x8000;
    public const int MadvDontfork = 10;
    public const int MadvDontdump = 16;
    public const int MadvPopulateRead = 22;
    public const int MadvPopulateWrite = 23;
    public const int MadvUnknown = int.MaxValue; // no advice, and refused by every kernel

    public const int LockExclusiveNonBlocking = 2 | 4;

    public const int ORdwr = 2;
    public const int OCreat = 0x40;
    public const int ONonblock = 0x800;
    public const int OCloexec = 0x80000;
    public const int OPath = 0x200000;

    // arm64 has its own number for this flag.
    public static readonly int ONofollow =
        RuntimeInformation.ProcessArchitecture == Architecture.Arm64 ? 0x8000 : 0x20000;

    public const int SolSocket = 1;
    public const int MsgDontwait = 0x40;
    public const int MsgNosignal = 0x4000;

    public const short PollIn = 1;

    public const int ClockMonotonic = 1;
    public const int ClockThreadCpuTime = 3;

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    public static partial nint MemfdCreate(nint number, byte* name, uint flags);

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    public static partial nint Statx(
        nint number, SafeHandle directory, byte* path, int flags, uint mask, StatxBuffer* buffer);

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    public static partial nint CacheStat(
        nint number, SafeFileHandle descriptor, CacheRange* range, CacheFacts* facts, uint flags);

    [LibraryImport("libc", EntryPoint = "ftruncate", SetLastError = true)]
    public static partial int FTruncate(SafeFileHandle descriptor, long length);

    [LibraryImport("libc", EntryPoint = "fallocate", SetLastError = true)]
    public static partial int FAllocate(SafeFileHandle descriptor, int mode, long offset, long length);

    [LibraryImport("libc", EntryPoint = "fcntl", SetLastError = true)]
    public static partial int FCntl(SafeHandle descriptor, int command, nint argument);

    [LibraryImport("libc", EntryPoint = "mmap", SetLastError = true)]
    public static partial nint MMap(
        nint address, nuint length, int protection, int flags, SafeFileHandle descriptor, long offset);

    [LibraryImport("libc", EntryPoint = "munmap", SetLastError = true)]
    public static partial int MUnmap(nint address, nuint length);

    [LibraryImport("libc", EntryPoint = "madvise", SetLastError = true)]
    public static partial int MAdvise(nint address, nuint length, int advice);

    [LibraryImport("libc", EntryPoint = "sendmsg", SetLastError = true)]
    public static partial nint SendMsg(SafeHandle socket, MessageHeader* message, int flags);

    [LibraryImport("libc", EntryPoint = "recvmsg", SetLastError = true)]
    public static partial nint RecvMsg(SafeHandle socket, MessageHeader* message, int flags);

    [LibraryImport("libc", EntryPoint = "recv", SetLastError = true)]
    public static partial nint Recv(SafeHandle socket, byte* buffer, nuint length, int flags);

    [LibraryImport("libc", EntryPoint = "poll", SetLastError = true)]
    public static partial int Poll(PollEntry* entries, nuint count, int timeoutMilliseconds);

    [LibraryImport("libc", EntryPoint = "bind", SetLastError = true)]
    public static partial int Bind(SafeHandle socket, byte* address, uint length);

    [LibraryImport("libc", EntryPoint = "connect", SetLastError = true)]
    public static partial int Connect(SafeHandle socket, byte* address, uint length);

    [LibraryImport("libc", EntryPoint = "listen", SetLastError = true)]
    public static partial int Listen(SafeHandle socket, int backlog);

    [LibraryImport("libc", EntryPoint = "accept4", SetLastError = true)]
    public static partial int Accept4(SafeHandle socket, nint address, nint length, int flags);

    [LibraryImport("libc", EntryPoint = "shutdown", SetLastError = true)]
    public static partial int Shutdown(SafeHandle socket, int how);

    [LibraryImport("libc", EntryPoint = "setsockopt", SetLastError = true)]
    public static partial int SetSocketOption(SafeHandle socket, int level, int name, int* value, uint length);

    [LibraryImport("libc", EntryPoint = "getrlimit", SetLastError = true)]
    public static partial int GetResourceLimit(int resource, ResourceLimit* limit);

    [LibraryImport("libc", EntryPoint = "eventfd", SetLastError = true)]
    public static partial int EventFd(uint count, int flags);

    [LibraryImport("libc", EntryPoint = "epoll_create1", SetLastError = true)]
    public static partial int EpollCreate(int flags);

    [LibraryImport("libc", EntryPoint = "epoll_ctl", SetLastError = true)]
    public static partial int EpollControl(SafeHandle poll, int operation, int descriptor, byte* entry);

    [LibraryImport("libc", EntryPoint = "epoll_wait", SetLastError = true)]
    public static partial int EpollWait(SafeHandle poll, byte* entries, int count, int timeoutMilliseconds);

    [LibraryImport("libc", EntryPoint = "send", SetLastError = true)]
    public static partial nint Send(SafeHandle socket, byte* buffer, nuint length, int flags);

    [LibraryImport("libc", EntryPoint = "read", SetLastError = true)]
    public static partial nint Read(SafeFileHandle descriptor, void* buffer, nuint length);

    [LibraryImport("libc", EntryPoint = "write", SetLastError = true)]
    public static partial nint Write(SafeFileHandle descriptor, void* buffer, nuint length);

    [LibraryImport("libc", EntryPoint = "flock", SetLastError = true)]
    public static partial int FLock(SafeFileHandle descriptor, int operation);

    [LibraryImport("libc", EntryPoint = "open", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int Open(string path, int flags, int mode);

    [LibraryImport("libc", EntryPoint = "mkdir", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int MakeDirectory(string path, uint mode);

    [LibraryImport("libc", EntryPoint = "fchmod", SetLastError = true)]
    public static partial int FChMod(SafeHandle descriptor, uint mode);

    [LibraryImport("libc", EntryPoint = "chmod", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int ChMod(string path, uint mode);

    [LibraryImport("libc", EntryPoint = "chown", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    public static partial int ChOwn(string path, uint user, uint group);

    /// <summary>Returns an error number. Sets <paramref name="found"/> to a struct passwd, or to null.</summary>
    [LibraryImport("libc", EntryPoint = "getpwnam_r", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int GetUserByName(string name, byte* entry, byte* buffer, nuint length, byte** found);

    /// <summary>As for <see cref="GetUserByName"/>.</summary>
    [LibraryImport("libc", EntryPoint = "getpwuid_r")]
    public static partial int GetUserById(uint user, byte* entry, byte* buffer, nuint length, byte** found);

    /// <summary>Returns an error number. Sets <paramref name="found"/> to a struct group, or to null.</summary>
    [LibraryImport("libc", EntryPoint = "getgrnam_r", StringMarshalling = StringMarshalling.Utf8)]
    public static partial int GetGroupByName(string name, byte* entry, byte* buffer, nuint length, byte** found);

    [LibraryImport("libc", EntryPoint = "close", SetLastError = true)]
    public static partial int Close(int descriptor);

    [LibraryImport("libc", EntryPoint = "syscall")]
    public static partial nint GetTid(nint number);

    [LibraryImport("libc", EntryPoint = "geteuid")]
    public static partial uint GetEffectiveUserId();

    /// <summary>Returns the clock of the processor time of a thread of this process (clock_gettime(2)).</summary>
    public static int ClockOfThread(int threadId) => (~threadId << 3) | 6;

    /// <summary>Returns the time of a clock in nanoseconds; 0 if there is no such clock.</summary>
    public static long ReadClock(int clock)
    {
        var time = default(TimeSpec);
        _ = ClockGetTime(clock, &time);
        return (time.Seconds * 1_000_000_000) + time.Nanoseconds;
    }

    /// <summary>Returns the text and number of the last P/Invoke error, for exception messages.</summary>
    public static string LastErrorText() => ErrorText(Marshal.GetLastPInvokeError());

    /// <summary>Returns the text and number of an error, for exception messages.</summary>
    public static string ErrorText(int errno) => $"{Marshal.GetPInvokeErrorMessage(errno)} (errno {errno})";

    [LibraryImport("libc", EntryPoint = "clock_gettime")]
    private static partial int ClockGetTime(int clock, TimeSpec* time);

    /// <summary>The struct timespec of 64-bit Linux.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct TimeSpec
    {
        public long Seconds;
        public long Nanoseconds;

        public static TimeSpec From(long nanoseconds) => new()
        {
            Seconds = nanoseconds / 1_000_000_000,
            Nanoseconds = nanoseconds % 1_000_000_000,
        };
    }

    /// <summary>
    /// The struct msghdr of 64-bit Linux. musl declares two of the lengths as 32 bits with padding; the bytes are the
    /// same while the padding is zero.
    /// </summary>
    [StructLayout(LayoutKind.Explicit, Size = 56)]
    public struct MessageHeader
    {
        [FieldOffset(16)]
        public IoVector* Vectors;

        [FieldOffset(24)]
        public ulong VectorCount;

        [FieldOffset(32)]
        public byte* Control;

        [FieldOffset(40)]
        public ulong ControlLength;

        [FieldOffset(48)]
        public int Flags;
    }

    /// <summary>The struct rlimit of 64-bit Linux.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct ResourceLimit
    {
        public ulong Current;
        public ulong Highest;
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct IoVector
    {
        public byte* Address;
        public nuint Length;
    }

    /// <summary>The struct pollfd.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct PollEntry
    {
        public int Descriptor;
        public short Events;
        public short Received;
    }

    /// <summary>The struct cachestat_range: a length of 0 reaches to the end of the file.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct CacheRange
    {
        public ulong Start;
        public ulong Length;
    }

    /// <summary>The part of struct cachestat that is used, in pages.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 40)]
    public struct CacheFacts
    {
        [FieldOffset(0)]
        public ulong Cached;

        [FieldOffset(24)]
        public ulong Evicted;
    }

    /// <summary>The part of struct statx that is used. The layout is the same on every processor.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 256)]
    public struct StatxBuffer
    {
        [FieldOffset(16)]
        public uint LinkCount;

        [FieldOffset(20)]
        public uint UserId;

        [FieldOffset(24)]
        public uint GroupId;

        [FieldOffset(28)]
        public ushort Mode;

        [FieldOffset(32)]
        public ulong Inode;

        [FieldOffset(40)]
        public ulong SizeBytes;

        [FieldOffset(48)]
        public ulong Blocks;

        [FieldOffset(136)]
        public uint DeviceMajor;

        [FieldOffset(140)]
        public uint DeviceMinor;
    }
}
