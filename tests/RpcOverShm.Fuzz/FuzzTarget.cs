namespace RpcOverShm.Fuzz;

/// <summary>
/// Code under test that reads bytes of a peer. An input is read, or refused with the exception that the code documents.
/// Everything else is a finding: another exception, a value that changes when it is encoded and decoded again, memory
/// beyond a multiple of the input's length, or a hang.
/// </summary>
internal abstract class FuzzTarget
{
    /// <summary>Well-formed inputs, from which the corpus began.</summary>
    public abstract IEnumerable<byte[]> Seeds { get; }

    /// <summary>The bytes that reading any input may allocate, for exceptions and the like.</summary>
    protected virtual int BytesAtLeast => 16 << 10;

    /// <summary>The further bytes that reading may allocate for each byte of input.</summary>
    protected virtual int BytesForEachByte => 64;

    /// <summary>Reads one input. Returns normally if it was read, or refused as documented.</summary>
    /// <exception cref="FuzzFindingException">The input is a finding.</exception>
    public void Run(ReadOnlySpan<byte> input)
    {
        long allowed = BytesAtLeast + ((long)BytesForEachByte * input.Length);
        if (Measure(input) is var first && first > allowed && Measure(input) is var second && second > allowed)
        {
            // Twice, because the first use of a type allocates for its static fields and compiled code.
            throw new FuzzFindingException($"{input.Length} bytes allocated {second}; {allowed} are allowed.");
        }
    }

    /// <exception cref="FuzzFindingException">The condition does not hold.</exception>
    protected static void Require(bool condition, string what)
    {
        if (!condition)
        {
            throw new FuzzFindingException(what);
        }
    }

    /// <summary>Reads one input, and returns the bytes that were allocated for it.</summary>
    protected virtual long Measure(ReadOnlySpan<byte> input)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        Read(input);
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }

    protected abstract void Read(ReadOnlySpan<byte> input);
}

/// <summary>The exception for an input that breaks a rule of its target.</summary>
internal sealed class FuzzFindingException(string message) : Exception(message);
