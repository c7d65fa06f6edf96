using System.Runtime.CompilerServices;

namespace RpcOverShm.Signals;

/// <summary>A word of this process on which its threads sleep. Thread-safe.</summary>
internal sealed unsafe class LocalWord
{
    // Pinned, because the kernel uses its address. An array of its own keeps it away from hot fields.
    private readonly uint[] _word = GC.AllocateArray<uint>(1, pinned: true);

    public ref uint Value => ref _word[0];

    public uint* Address => (uint*)Unsafe.AsPointer(ref _word[0]);

    /// <summary>
    /// Sleeps while the word has the expected value, at most for the timeout. Wake-ups can be spurious.
    /// </summary>
    public void Wait(uint expected, TimeSpan timeout)
    {
        FutexNative.WaitPrivate(Address, expected, timeout);

        // The kernel has only the address, so the GC must not collect the array during the sleep.
        GC.KeepAlive(this);
    }

    /// <summary>Wakes all threads that sleep on the word.</summary>
    public void Wake()
    {
        FutexNative.WakeAllPrivate(Address);
        GC.KeepAlive(this);
    }
}
