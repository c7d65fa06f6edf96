namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>Metadata that a thread goes on changing while others read it, which no collection allows.</summary>
internal static class DisturbedMetadata
{
    /// <summary>So many that reading them takes long enough to be disturbed, and not too many to be sent.</summary>
    public const int Entries = 1000;

    /// <summary>Fills metadata, and returns while a thread goes on replacing an entry.</summary>
    public static void Disturb(this Metadata metadata, CancellationToken stop)
    {
        var entry = new Metadata.Entry("key", "value");
        for (int i = 0; i < Entries; i++)
        {
            metadata.Add(entry);
        }

        using var hasBegun = new ManualResetEventSlim();
        TestThread.Start("disturbing", () =>
        {
            metadata[0] = entry;
            hasBegun.Set();
            while (!stop.IsCancellationRequested)
            {
                metadata[0] = entry;
            }
        });
        hasBegun.Wait(Timeouts.Wait, CancellationToken.None);
    }
}
