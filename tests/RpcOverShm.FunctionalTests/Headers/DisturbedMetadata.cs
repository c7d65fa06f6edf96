namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>Metadata that one thread keeps changing while others read it.</summary>
internal static class DisturbedMetadata
{
    /// <summary>Enough entries for the changes to hit a reader, and few enough to be sent.</summary>
    public const int Entries = 1000;

    /// <summary>Fills the metadata and starts a thread that keeps replacing an entry.</summary>
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
