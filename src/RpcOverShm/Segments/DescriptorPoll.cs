using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>Waits until descriptors are readable (poll), for those that .NET cannot wait for.</summary>
internal static unsafe class DescriptorPoll
{
    /// <summary>Returns whether a descriptor is readable, without waiting.</summary>
    public static bool IsReadable(SafeFileHandle descriptor)
    {
        Span<bool> isReadable = [false];
        return TryWait([descriptor], isReadable, TimeSpan.Zero) && isReadable[0];
    }

    /// <summary>
    /// Waits until a descriptor is readable, or the timeout, or for ever if that is null. The caller must keep the
    /// descriptors open meanwhile. Returns false if the kernel has no memory for the wait.
    /// </summary>
    public static bool TryWait(
        ReadOnlySpan<SafeFileHandle> descriptors, Span<bool> isReadable, TimeSpan? timeout)
    {
        var polled = new LinuxNative.PollEntry[descriptors.Length];
        for (int i = 0; i < polled.Length; i++)
        {
            polled[i].Descriptor = (int)descriptors[i].DangerousGetHandle();
            polled[i].Events = LinuxNative.PollIn;
        }

        int milliseconds = timeout is { } limit ? (int)Math.Ceiling(limit.TotalMilliseconds) : -1;
        int result;
        fixed (LinuxNative.PollEntry* entries = polled)
        {
            do
            {
                result = LinuxNative.Poll(entries, (nuint)polled.Length, milliseconds);
            }
            while (result < 0 && Marshal.GetLastPInvokeError() == LinuxNative.ErrnoEINTR);
        }

        for (int i = 0; i < polled.Length; i++)
        {
            isReadable[i] = result > 0 && (polled[i].Received & LinuxNative.PollIn) != 0;
        }

        return result >= 0;
    }
}
