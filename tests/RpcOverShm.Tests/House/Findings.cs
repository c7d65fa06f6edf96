namespace RpcOverShm.Tests.House;

/// <summary>What rules have found, as one message with a line for each.</summary>
internal static class Findings
{
    public static void AssertNone(IEnumerable<string> findings)
    {
        string[] all = [.. findings];
        Assert.That(all, Is.Empty, string.Join(Environment.NewLine, all.Prepend($"{all.Length} findings:")));
    }
}
