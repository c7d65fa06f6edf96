using System.Buffers.Binary;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>A poll of descriptors (epoll), edge-triggered. An event descriptor ends its wait.</summary>
internal sealed unsafe class EpollPoll : EventPoll
{
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

    private EpollPoll()
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
    public static EpollPoll? TryCreate()
    {
        var poll = new EpollPoll();
        if (poll._handle.IsInvalid || poll._wake.IsInvalid || poll.AddDescriptor(poll._wake, WakeKey) is not null)
        {
            poll.Dispose();
            return null;
        }

        return poll;
    }

    public override void Wake()
    {
        // A write that fails has found the descriptor readable already.
        ulong one = 1;
        _ = LinuxNative.Write(_wake, &one, sizeof(ulong));
    }

    public override string? Add(Watchable watched, ulong key) => AddDescriptor(watched.Handle, key);

    private string? AddDescriptor(SafeHandle descriptor, ulong key)
    {
        byte* entry = stackalloc byte[s_entryBytes];
        *(uint*)entry = EventIn | EventPeerClosed | EventEdge;
        BinaryPrimitives.WriteUInt64LittleEndian(new Span<byte>(entry + s_dataOffset, sizeof(ulong)), key);
        return Control(ControlAdd, descriptor, entry) == 0 ? null : LinuxNative.LastErrorText();
    }

    public override void Remove(Watchable watched)
    {
        byte* unused = stackalloc byte[s_entryBytes];
        _ = Control(ControlDelete, watched.Handle, unused);
    }

    public override int Wait(Event[] events, int timeoutMilliseconds)
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

    public override void Dispose()
    {
        _handle.Dispose();
        _wake.Dispose();
    }

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
