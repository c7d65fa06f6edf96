using System.Runtime.CompilerServices;

namespace RpcOverShm.Systems;

/// <summary>A word of this process on which its threads sleep. Thread-safe.</summary>
internal sealed unsafe class LocalWord
{
    // The words before and after it keep others out of its cache line.
    private const int Words = 64;
    private const int Index = Words / 2;

    // Pinned, because the system uses its address.
    private readonly uint[] _words = GC.AllocateArray<uint>(Words, pinned: true);

    public ref uint Value => ref _words[Index];

    public uint* Address => (uint*)Unsafe.AsPointer(ref _words[Index]);

    /// <summary>
    /// Sleeps while the word has the expected value, at most for the timeout. Wake-ups can be spurious.
    /// </summary>
    public void Wait(uint expected, TimeSpan timeout)
    {
        HostSystem.Current.WaitPrivate(Address, expected, timeout);

        // The system has only the address, so the GC must not collect the array during the sleep.
        GC.KeepAlive(this);
    }

    /// <summary>Wakes all threads that sleep on the word.</summary>
    public void Wake()
    {
        HostSystem.Current.WakePrivate(Address);
        GC.KeepAlive(this);
    }
}
