namespace RpcOverShm.Testing;

/// <summary>
/// Asserts that large messages are the same. NUnit compares arrays as objects, element by element: a megabyte takes it
/// a tenth of a second.
/// </summary>
public static class SameBytes
{
    public static void Assert(byte[]? actual, ReadOnlySpan<byte> expected, string? because = null)
    {
        NUnit.Framework.Assert.That(actual, NUnit.Framework.Is.Not.Null, because);
        Assert(actual.AsSpan(), expected, because);
    }

    public static void Assert(ReadOnlySpan<byte> actual, ReadOnlySpan<byte> expected, string? because = null)
    {
        int same = actual.CommonPrefixLength(expected);
        if (same < actual.Length || same < expected.Length)
        {
            NUnit.Framework.Assert.Fail(
                $"{actual.Length} bytes, expected {expected.Length}: they differ from byte {same} on. {because}");
        }
    }
}
