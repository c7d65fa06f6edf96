using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Windows;

/// <summary>A handle of this process to an object of the kernel.</summary>
internal sealed unsafe class KernelHandle : SafeHandleZeroOrMinusOneIsInvalid
{
    private const int BasicInformation = 0;
    private const int BasicBytes = 56;
    private const int TypeInformation = 2;
    private const int TypeBytes = 1024;

    /// <param name="value">The handle.</param>
    /// <param name="rightsOfPeer">The rights that a peer gets when the handle is passed; 0 if it never is.</param>
    public KernelHandle(nint value, uint rightsOfPeer = 0)
        : base(ownsHandle: true)
    {
        SetHandle(value);
        RightsOfPeer = rightsOfPeer;
    }

    /// <summary>The rights with which the handle is passed to a peer.</summary>
    public uint RightsOfPeer { get; }

    /// <summary>The pseudo-handle of this process, which nothing closes.</summary>
    public static KernelHandle OwnProcess { get; } = new(WindowsNative.CurrentProcess);

    /// <summary>Creates an event without a name; invalid if the system lacks memory.</summary>
    public static KernelHandle CreateEvent(bool isManual = false) =>
        new(WindowsNative.CreateEventW(null, isManual ? 1 : 0, isSet: 0, name: null));

    /// <summary>
    /// Duplicates a handle of this process to a process, with these rights. Returns 0 on failure, with the last error.
    /// </summary>
    public static nint Duplicate(SafeHandle source, KernelHandle process, uint rights)
    {
        nint copy = 0;
        int isMade = WindowsNative.DuplicateHandle(OwnProcess, source, process, &copy, rights, inherit: 0, options: 0);
        return isMade != 0 ? copy : 0;
    }

    /// <summary>
    /// Duplicates a handle of a process to this one, with its rights. Returns 0 on failure, with the last error.
    /// </summary>
    public static nint DuplicateFrom(KernelHandle process, nint source, uint options = 0)
    {
        nint copy = 0;
        options |= WindowsNative.DuplicateSameAccess;
        int isMade = WindowsNative.DuplicateHandle(process, source, OwnProcess, &copy, access: 0, inherit: 0, options);
        return isMade != 0 ? copy : 0;
    }

    /// <summary>Returns the name of the type of the object, such as Section; null if there is no such handle.</summary>
    public static string? TypeOf(nint value)
    {
        // OBJECT_TYPE_INFORMATION begins with a UNICODE_STRING: its length in bytes, then the address at 8.
        byte* information = stackalloc byte[TypeBytes];
        uint returned;
        return WindowsNative.NtQueryObject(value, TypeInformation, information, TypeBytes, &returned) == 0
            ? new string(*(char**)(information + sizeof(nint)), 0, *(ushort*)information / sizeof(char))
            : null;
    }

    /// <summary>Returns the rights of a handle.</summary>
    public static uint RightsOf(nint value)
    {
        // PUBLIC_OBJECT_BASIC_INFORMATION: attributes, then rights.
        uint* information = stackalloc uint[BasicBytes / sizeof(uint)];
        uint returned;
        return WindowsNative.NtQueryObject(value, BasicInformation, information, BasicBytes, &returned) == 0
            ? information[1]
            : 0;
    }

    protected override bool ReleaseHandle() => WindowsNative.CloseHandle(handle) != 0;
}
