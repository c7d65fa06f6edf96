using System.Runtime.InteropServices;

namespace RpcOverShm.Windows;

/// <summary>The functions of Windows for named pipes, completion ports, and who is at the other end.</summary>
internal static unsafe partial class WindowsNative
{
    public const uint PipeDuplex = 0x3;
    public const uint PipeRejectRemote = 0x8;
    public const uint PipeUnlimitedInstances = 255;
    public const uint FlagFirstInstance = 0x0008_0000;
    public const uint FlagOverlapped = 0x4000_0000;
    public const uint FlagSecurityPresent = 0x0010_0000;
    public const uint FlagIdentification = 0x0001_0000;
    public const uint FileReadData = 0x1;
    public const uint FileWriteData = 0x2;
    public const uint FileReadAttributes = 0x80;
    public const uint OpenExisting = 3;
    public const uint TokenQuery = 0x8;

    [LibraryImport("kernel32", SetLastError = true, StringMarshalling = StringMarshalling.Utf16)]
    public static partial nint CreateNamedPipeW(
        string name,
        uint openMode,
        uint pipeMode,
        uint mostInstances,
        uint outBytes,
        uint inBytes,
        uint defaultTimeout,
        SecurityAttributes* attributes);

    [LibraryImport("kernel32", SetLastError = true, StringMarshalling = StringMarshalling.Utf16)]
    public static partial int WaitNamedPipeW(string name, uint milliseconds);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int ConnectNamedPipe(SafeHandle pipe, Overlapped* overlapped);

    [LibraryImport("kernel32", SetLastError = true, StringMarshalling = StringMarshalling.Utf16)]
    public static partial nint CreateFileW(
        string name,
        uint access,
        uint share,
        SecurityAttributes* attributes,
        uint disposition,
        uint flags,
        nint template);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int PeekNamedPipe(
        SafeHandle pipe, byte* buffer, uint size, uint* read, uint* available, uint* left);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int ReadFile(SafeHandle pipe, byte* buffer, uint size, uint* read, Overlapped* overlapped);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int WriteFile(
        SafeHandle pipe, byte* buffer, uint size, uint* written, Overlapped* overlapped);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int CancelIoEx(SafeHandle pipe, Overlapped* overlapped);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint CreateIoCompletionPort(nint file, nint port, nuint key, uint threads);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial nint CreateIoCompletionPort(SafeHandle file, SafeHandle port, nuint key, uint threads);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int GetQueuedCompletionStatusEx(
        SafeHandle port, Packet* packets, uint count, uint* removed, uint milliseconds, int isAlertable);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int PostQueuedCompletionStatus(
        SafeHandle port, uint bytes, nuint key, Overlapped* overlapped);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int GetNamedPipeClientProcessId(SafeHandle pipe, int* processId);

    [LibraryImport("kernel32", SetLastError = true)]
    public static partial int GetNamedPipeServerProcessId(SafeHandle pipe, int* processId);

    [LibraryImport("advapi32", SetLastError = true)]
    public static partial int ImpersonateNamedPipeClient(SafeHandle pipe);

    [LibraryImport("advapi32", SetLastError = true)]
    public static partial int RevertToSelf();

    [LibraryImport("advapi32", SetLastError = true)]
    public static partial int OpenThreadToken(nint thread, uint access, int asSelf, nint* token);

    [LibraryImport("advapi32", SetLastError = true)]
    public static partial int OpenProcessToken(SafeHandle process, uint access, nint* token);

    [LibraryImport("advapi32")]
    public static partial int GetSecurityInfo(
        SafeHandle handle, int kind, uint what, nint* owner, nint* group, nint* dacl, nint* sacl, nint* descriptor);

    [LibraryImport("advapi32", SetLastError = true, StringMarshalling = StringMarshalling.Utf16)]
    public static partial int ConvertStringSecurityDescriptorToSecurityDescriptorW(
        string text, uint revision, nint* descriptor, uint* bytes);

    /// <summary>Keeps the last error, which the caller may still read.</summary>
    [LibraryImport("kernel32")]
    public static partial nint LocalFree(nint memory);

    /// <summary>OVERLAPPED: the state of one operation, which the system writes.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Overlapped
    {
        public nuint Status;
        public nuint Bytes;
        public ulong Offset;
        public nint Event;
    }

    /// <summary>OVERLAPPED_ENTRY: a packet of a completion port.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Packet
    {
        public nuint Key;
        public Overlapped* Overlapped;
        public nuint Status;
        public uint Bytes;
    }
}
