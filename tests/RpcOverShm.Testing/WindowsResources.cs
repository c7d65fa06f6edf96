using System.ComponentModel;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace RpcOverShm.Testing;

/// <summary>
/// Counts the resources of a process on Windows and under Wine, where the system's own count of handles is 0.
/// </summary>
internal static unsafe partial class WindowsResources
{
    /// <summary>The bytes "RPCOSHM" and the number of the layout, with which a segment begins.</summary>
    private const ulong SegmentMagic = 0x01_4D_48_53_4F_43_50_52;

    private const int ExtendedHandleInformation = 64;
    private const int ObjectTypeInformation = 2;
    private const int InfoLengthMismatch = unchecked((int)0xC000_0004);
    private const uint ProcessVmRead = 0x10;
    private const uint ProcessDuplicateHandle = 0x40;
    private const uint ProcessQueryInformation = 0x400;
    private const uint ThreadQueryLimited = 0x800;
    private const uint DuplicateSameAccess = 2;
    private const uint MemoryCommit = 0x1000;
    private const uint MemoryMapped = 0x4_0000;
    private const nint CurrentProcess = -1;

    /// <summary>Returns the names of all threads; "" for one without a name.</summary>
    public static string[] ThreadNames(int processId)
    {
        using var process = Process.GetProcessById(processId);
        return [.. process.Threads.Cast<ProcessThread>().Select(thread => NameOf(thread.Id)).OfType<string>()];
    }

    /// <summary>Counts the open handles by the type of their objects, such as "File" or "Section".</summary>
    public static Dictionary<string, int> CountHandles(int processId)
    {
        nint process = Open(processId, ProcessDuplicateHandle);
        var counts = new Dictionary<string, int>();
        foreach (string type in HandlesOf(processId).Select(handle => TypeOf(process, handle)).OfType<string>())
        {
            counts[type] = counts.GetValueOrDefault(type) + 1;
        }

        _ = CloseHandle(process);
        return counts;
    }

    /// <summary>Counts the mapped views that begin as a segment does.</summary>
    public static int CountSegmentMappings(int processId)
    {
        nint process = Open(processId, ProcessVmRead | ProcessQueryInformation);
        int count = 0;
        MemoryRegion region;
        nint at = 0;
        while (VirtualQueryEx(process, at, &region, sizeof(MemoryRegion)) != 0)
        {
            at = region.Base + region.Size;
            ulong word;
            if (region.Type == MemoryMapped && region.State == MemoryCommit && region.Base == region.AllocationBase
                && ReadProcessMemory(process, region.Base, &word, sizeof(ulong), out _) != 0 && word == SegmentMagic)
            {
                count++;
            }
        }

        _ = CloseHandle(process);
        return count;
    }

    private static string? NameOf(int threadId)
    {
        nint thread = OpenThread(ThreadQueryLimited, inherit: 0, threadId);
        if (thread == 0)
        {
            return null; // It has ended.
        }

        string? name = null;
        if (GetThreadDescription(thread, out nint text) >= 0)
        {
            name = Marshal.PtrToStringUni(text);
            _ = LocalFree(text);
        }

        _ = CloseHandle(thread);
        return name;
    }

    private static nint[] HandlesOf(int processId)
    {
        for (uint size = 1 << 20; ; size *= 2)
        {
            byte* buffer = (byte*)NativeMemory.Alloc(size);
            try
            {
                int status = NtQuerySystemInformation(ExtendedHandleInformation, buffer, size, out _);
                if (status == 0)
                {
                    // The count and a reserved word precede the entries.
                    var entries = new ReadOnlySpan<HandleEntry>(buffer + (2 * sizeof(nint)), (int)*(nint*)buffer);
                    var handles = new List<nint>();
                    foreach (HandleEntry entry in entries)
                    {
                        if (entry.ProcessId == processId)
                        {
                            handles.Add(entry.Handle);
                        }
                    }

                    return [.. handles];
                }

                if (status != InfoLengthMismatch)
                {
                    throw new InvalidOperationException($"The system does not list its handles: {status:x8}");
                }
            }
            finally
            {
                NativeMemory.Free(buffer);
            }
        }
    }

    // Null for a handle that was closed after the list was made, or that cannot be duplicated.
    private static string? TypeOf(nint process, nint handle)
    {
        const int MostBytes = 1024;
        if (DuplicateHandle(process, handle, CurrentProcess, out nint own, 0, inherit: 0, DuplicateSameAccess) == 0)
        {
            return null;
        }

        // A UNICODE_STRING, whose characters follow.
        byte* information = stackalloc byte[MostBytes];
        int status = NtQueryObject(own, ObjectTypeInformation, information, MostBytes, out _);
        _ = CloseHandle(own);
        return status == 0
            ? new string(*(char**)(information + sizeof(nint)), 0, *(ushort*)information / sizeof(char))
            : null;
    }

    private static nint Open(int processId, uint rights)
    {
        nint process = OpenProcess(rights, inherit: 0, processId);
        return process != 0 ? process : throw new Win32Exception();
    }

    [LibraryImport("ntdll")]
    private static partial int NtQuerySystemInformation(int kind, void* information, uint length, out uint returned);

    [LibraryImport("ntdll")]
    private static partial int NtQueryObject(nint handle, int kind, void* information, uint length, out uint returned);

    [LibraryImport("kernel32", SetLastError = true)]
    private static partial nint OpenProcess(uint access, int inherit, int processId);

    [LibraryImport("kernel32")]
    private static partial nint OpenThread(uint access, int inherit, int threadId);

    [LibraryImport("kernel32")]
    private static partial int GetThreadDescription(nint thread, out nint text);

    [LibraryImport("kernel32")]
    private static partial nint LocalFree(nint memory);

    [LibraryImport("kernel32")]
    private static partial int DuplicateHandle(
        nint process, nint handle, nint target, out nint duplicate, uint access, int inherit, uint options);

    [LibraryImport("kernel32")]
    private static partial int CloseHandle(nint handle);

    [LibraryImport("kernel32")]
    private static partial nint VirtualQueryEx(nint process, nint address, MemoryRegion* region, nint length);

    [LibraryImport("kernel32")]
    private static partial int ReadProcessMemory(
        nint process, nint address, void* buffer, nint length, out nint read);

    /// <summary>SYSTEM_HANDLE_TABLE_ENTRY_INFO_EX.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private readonly struct HandleEntry
    {
        public readonly nint Object;
        public readonly nint ProcessId;
        public readonly nint Handle;
        public readonly uint Access;
        public readonly ushort Creator;
        public readonly ushort TypeIndex;
        public readonly uint Attributes;
        public readonly uint Reserved;
    }

    /// <summary>MEMORY_BASIC_INFORMATION of 64 bits.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private readonly struct MemoryRegion
    {
        public readonly nint Base;
        public readonly nint AllocationBase;
        public readonly uint AllocationProtect;
        public readonly ushort Partition;
        public readonly nint Size;
        public readonly uint State;
        public readonly uint Protect;
        public readonly uint Type;
    }
}
