using System.Runtime.InteropServices;

namespace RpcOverShm.Windows;

/// <summary>
/// The functions of Windows for memory, handles, waits, threads and processes. All arguments are blittable; those that
/// return 0 on failure set the last error.
/// </summary>
internal static unsafe partial class WindowsNative
{
    public const int ErrorFileNotFound = 2;
    public const int ErrorPathNotFound = 3;
    public const int ErrorAccessDenied = 5;
    public const int ErrorNotEnoughMemory = 8;
    public const int ErrorHandleEof = 38;
    public const int ErrorBrokenPipe = 109;
    public const int ErrorSemaphoreTimeout = 121;
    public const int ErrorPipeBusy = 231;
    public const int ErrorNoData = 232;
    public const int ErrorPipeNotConnected = 233;
    public const int ErrorPipeConnected = 535;
    public const int ErrorOperationAborted = 995;
    public const int ErrorIoPending = 997;
    public const int ErrorNoSystemResources = 1450;
    public const int ErrorWorkingSetQuota = 1453;
    public const int ErrorCommitmentLimit = 1455;
    public const int ErrorNotEnoughQuota = 1816;

    public const uint StatusPending = 0x103;

    public const uint PageNoAccess = 0x1;
    public const uint PageReadOnly = 0x2;
    public const uint PageReadWrite = 0x4;
    public const uint SectionCommit = 0x0800_0000;
    public const uint FileMapWrite = 0x2;
    public const uint FileMapRead = 0x4;
    public const uint MemoryCommit = 0x1000;
    public const uint MemoryReserve = 0x2000;
    public const uint MemoryMapped = 0x4_0000;

    public const uint Synchronize = 0x0010_0000;
    public const uint ReadControl = 0x0002_0000;
    public const uint SectionQuery = 0x1;
    public const uint SectionMapRead = 0x4;
    public const uint SemaphoreModifyState = 0x2;
    public const uint DuplicateCloseSource = 0x1;
    public const uint DuplicateSameAccess = 0x2;
    public const uint ProcessDuplicateHandle = 0x40;
    public const uint ProcessQueryLimited = 0x1000;
    public const uint ThreadQueryLimited = 0x0800;

    public const uint WaitTimeout = 258;
    public const uint Infinite = uint.MaxValue;
    public const nint InvalidHandle = -1;

    /// <summary>The pseudo-handle of this process.</summary>
    public const nint CurrentProcess = -1;

    /// <summary>The pseudo-handle of the calling thread.</summary>
    public const nint CurrentThread = -2;

    /// <summary>Returns the system's text for the last error.</summary>
    public static string LastErrorText() => ErrorText(Marshal.GetLastPInvokeError());

    /// <summary>Returns the system's text for an error.</summary>
    public static string ErrorText(int error) =>
        $"{Marshal.GetPInvokeErrorMessage(error).TrimEnd('.')} (error {error})";

    /// <summary>Whether the system lacks memory or handles, so that a later try may succeed.</summary>
    public static bool IsShortage(int error) => error is ErrorNotEnoughMemory or ErrorNoSystemResources
        or ErrorWorkingSetQuota or ErrorCommitmentLimit or ErrorNotEnoughQuota;

    /// <summary>Returns a timeout in whole milliseconds, never too short.</summary>
    public static uint Milliseconds(TimeSpan timeout) => timeout < TimeSpan.Zero
        ? Infinite
        : (uint)Math.Min(Math.Ceiling(timeout.TotalMilliseconds), int.MaxValue);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint CreateFileMappingW(
        nint file, SecurityAttributes* attributes, uint protection, uint sizeHigh, uint sizeLow, char* name);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint MapViewOfFile(
        SafeHandle section, uint access, uint offsetHigh, uint offsetLow, nuint bytes);

    [LibraryImport("kernel32")]
    public static partial int UnmapViewOfFile(nint address);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint VirtualAlloc(nint address, nuint bytes, uint type, uint protection);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int VirtualProtect(nint address, nuint bytes, uint protection, uint* former);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nuint VirtualQuery(nint address, MemoryInformation* information, nuint length);

    [LibraryImport("ntdll")]
    public static partial int NtQuerySection(
        SafeHandle section, int kind, SectionInformation* information, nuint length, nint returned);

    [LibraryImport("ntdll")]
    public static partial int NtQueryObject(nint handle, int kind, void* information, uint length, uint* returned);

    [LibraryImport("ntdll")]
    public static partial int RtlNtStatusToDosError(int status);

    [LibraryImport("kernel32")]
    public static partial int CloseHandle(nint handle);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int DuplicateHandle(
        SafeHandle fromProcess, nint source, SafeHandle toProcess, nint* copy, uint access, int inherit, uint options);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int DuplicateHandle(
        SafeHandle fromProcess,
        SafeHandle source,
        SafeHandle toProcess,
        nint* copy,
        uint access,
        int inherit,
        uint options);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint CreateSemaphoreW(SecurityAttributes* attributes, int initial, int maximum, char* name);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int ReleaseSemaphore(SafeHandle semaphore, int count, int* former);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint CreateEventW(SecurityAttributes* attributes, int isManual, int isSet, char* name);

    [LibraryImport("kernel32")]
    public static partial int SetEvent(SafeHandle handle);

    [LibraryImport("kernel32")]
    public static partial int SetEvent(nint handle);

    [LibraryImport("kernel32")]
    public static partial int ResetEvent(SafeHandle handle);

    [LibraryImport("kernel32")]
    public static partial uint WaitForSingleObject(SafeHandle handle, uint milliseconds);

    [LibraryImport("kernel32")]
    public static partial uint WaitForMultipleObjects(uint count, nint* handles, int all, uint milliseconds);

    [LibraryImport("kernelbase", SetLastError = true)]
    public static partial int WaitOnAddress(uint* address, uint* expected, nuint bytes, uint milliseconds);

    [LibraryImport("kernelbase")]
    public static partial void WakeByAddressAll(uint* address);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int RegisterWaitForSingleObject(
        nint* wait,
        SafeHandle handle,
        delegate* unmanaged<nint, byte, void> callback,
        nint context,
        uint milliseconds,
        uint flags);

    [LibraryImport("kernel32")]
    public static partial int UnregisterWaitEx(nint wait, nint completion);

    [LibraryImport("kernel32")]
    public static partial int GetCurrentThreadId();

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint OpenThread(uint access, int inherit, int threadId);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int GetThreadTimes(nint thread, long* created, long* exited, long* kernel, long* user);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint OpenProcess(uint access, int inherit, int processId);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int GetProcessTimes(
        SafeHandle process, long* created, long* exited, long* kernel, long* user);

    /// <summary>SECURITY_ATTRIBUTES.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct SecurityAttributes
    {
        public uint Length;
        public nint Descriptor;
        public int IsInherited;
    }

    /// <summary>MEMORY_BASIC_INFORMATION.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct MemoryInformation
    {
        public nint Address;
        public nint AllocationAddress;
        public uint AllocationProtection;
        public ushort Partition;
        public nint Bytes;
        public uint State;
        public uint Protection;
        public uint Type;
    }

    /// <summary>SECTION_BASIC_INFORMATION.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct SectionInformation
    {
        public nint Address;
        public uint Attributes;
        public long SizeBytes;
    }
}
