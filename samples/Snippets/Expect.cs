namespace RpcOverShm.Samples;

/// <summary>Checks what a snippet did.</summary>
internal static class Expect
{
    public static void Equal<T>(T expected, T actual)
    {
        if (!EqualityComparer<T>.Default.Equals(expected, actual))
        {
            throw new InvalidOperationException($"A snippet gave '{actual}' instead of '{expected}'.");
        }
    }
}
