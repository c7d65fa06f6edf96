using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>
/// A descriptor that any thread of this process makes readable (eventfd), to end a wait for descriptors. Both methods
/// return at once. Thread-safe until it is disposed.
/// </summary>
internal sealed unsafe class EventDescriptor : IDisposable
{
    private const int NonBlockingCloexec = LinuxNative.ONonblock | LinuxNative.OCloexec;

    private EventDescriptor(int descriptor) => Handle = new SafeFileHandle(descriptor, ownsHandle: true);

    public SafeFileHandle Handle { get; }

    /// <summary>Creates a descriptor that is not readable; null if the process may open no more.</summary>
    public static EventDescriptor? TryCreate()
    {
        int descriptor = LinuxNative.EventFd(0, NonBlockingCloexec);
        return descriptor < 0 ? null : new EventDescriptor(descriptor);
    }

    /// <summary>Makes the descriptor readable. A write that fails has found it readable already.</summary>
    public void Signal()
    {
        ulong one = 1;
        _ = LinuxNative.Write(Handle, &one, sizeof(ulong));
    }

    /// <summary>Makes the descriptor unreadable, if it was readable.</summary>
    public void Clear()
    {
        ulong count;
        _ = LinuxNative.Read(Handle, &count, sizeof(ulong));
    }

    public void Dispose() => Handle.Dispose();
}
