using System.Buffers.Binary;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>
/// Waits on one thread for many descriptors (epoll). Each change of a descriptor from "nothing to read" to readable is
/// reported once (edge-triggered), so the descriptor need not be read at once. Any thread can end the wait. Add, Remove
/// and Wake are thread-safe until it is disposed; one thread at a time waits.
/// </summary>
internal sealed unsafe class EventPoll : IDisposable
{
    /// <summary>The most events that one wait returns.</summary>
    public const int MostEvents = 64;

    private const ulong WakeKey = 0;
    private const int ControlAdd = 1;
    private const int ControlDelete = 2;
    private const uint EventIn = 0x1;
    private const uint EventPeerClosed = 0x2000;
    private const uint EventEdge = 1u << 31;

    // struct epoll_event: 32 bits of events, then 64 bits of data, which x64 does not align.
    private static readonly int s_dataOffset = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 4 : 8;
    private static readonly int s_entryBytes = s_dataOffset + sizeof(ulong);

    private readonly SafeFileHandle _handle = new(LinuxNative.EpollCreate(LinuxNative.OCloexec), ownsHandle: true);
    private readonly SafeFileHandle _wake =
        new(LinuxNative.EventFd(0, LinuxNative.ONonblock | LinuxNative.OCloexec), ownsHandle: true);

    private readonly byte[] _entries = new byte[MostEvents * 16];

    private EventPoll()
    {
    }

    /// <summary>
    /// Returns whether a descriptor is readable or has ended, at the latest after the timeout. The caller keeps it open
    /// meanwhile. A signal may end the wait early.
    /// </summary>
    public static bool IsReadable(SafeHandle descriptor, int timeoutMilliseconds)
    {
        var entry = new LinuxNative.PollEntry
        {
            Descriptor = (int)descriptor.DangerousGetHandle(),
            Events = LinuxNative.PollIn,
        };
        return LinuxNative.Poll(&entry, 1, timeoutMilliseconds) > 0;
    }

    /// <summary>Creates one; null if the process may open no more descriptors.</summary>
    public static EventPoll? TryCreate()
    {
        var poll = new EventPoll();
        if (poll._handle.IsInvalid || poll._wake.IsInvalid || poll.Add(poll._wake, WakeKey) is not null)
        {
            poll.Dispose();
            return null;
        }

        return poll;
    }

    /// <summary>Ends the wait, or the next one if no thread waits. Returns at once.</summary>
    public void Wake()
    {
        // A write that fails has found the descriptor readable already.
        ulong one = 1;
        _ = LinuxNative.Write(_wake, &one, sizeof(ulong));
    }

    /// <summary>Adds a descriptor, with a key above 0. Returns null on success, else the system's reason.</summary>
    public string? Add(SafeHandle descriptor, ulong key)
    {
        byte* entry = stackalloc byte[s_entryBytes];
        *(uint*)entry = EventIn | EventPeerClosed | EventEdge;
        BinaryPrimitives.WriteUInt64LittleEndian(new Span<byte>(entry + s_dataOffset, sizeof(ulong)), key);
        return Control(ControlAdd, descriptor, entry) == 0 ? null : LinuxNative.LastErrorText();
    }

    /// <summary>Removes a descriptor. One that was never added, or is closed already, is no error.</summary>
    public void Remove(SafeHandle descriptor)
    {
        byte* unused = stackalloc byte[s_entryBytes];
        _ = Control(ControlDelete, descriptor, unused);
    }

    /// <summary>
    /// Waits for the timeout, or -1 for ever, until a descriptor has changed. Returns the number of events; 0 also
    /// after a signal. One with the key 0 is of <see cref="Wake"/>.
    /// </summary>
    public int Wait(Event[] events, int timeoutMilliseconds)
    {
        fixed (byte* entries = _entries)
        {
            int most = Math.Min(events.Length, MostEvents);
            int count = LinuxNative.EpollWait(_handle, entries, most, timeoutMilliseconds);
            for (int i = 0; i < count; i++)
            {
                byte* entry = entries + (i * s_entryBytes);
                ulong key = BinaryPrimitives.ReadUInt64LittleEndian(
                    new ReadOnlySpan<byte>(entry + s_dataOffset, sizeof(ulong)));
                if (key == WakeKey)
                {
                    ulong unused;
                    _ = LinuxNative.Read(_wake, &unused, sizeof(ulong));
                }

                events[i] = new Event(key, HasEnded: *(uint*)entry != EventIn);
            }

            return Math.Max(count, 0);
        }
    }

    public void Dispose()
    {
        _handle.Dispose();
        _wake.Dispose();
    }

    /// <summary>A change of the descriptor with a key: it is readable, or it has ended or failed too.</summary>
    public readonly record struct Event(ulong Key, bool HasEnded);

    private int Control(int operation, SafeHandle descriptor, byte* entry)
    {
        bool isReferenced = false;
        try
        {
            descriptor.DangerousAddRef(ref isReferenced);
            return LinuxNative.EpollControl(_handle, operation, (int)descriptor.DangerousGetHandle(), entry);
        }
        catch (ObjectDisposedException)
        {
            return -1;
        }
        finally
        {
            if (isReferenced)
            {
                descriptor.DangerousRelease();
            }
        }
    }
}
