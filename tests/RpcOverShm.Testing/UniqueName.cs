namespace RpcOverShm.Testing;

/// <summary>Returns names that no other test, run or process uses at the same time.</summary>
public static class UniqueName
{
    private static int s_last;

    public static string Next(string prefix = "t") =>
        $"{prefix}-{Environment.ProcessId}-{Interlocked.Increment(ref s_last)}";
}
