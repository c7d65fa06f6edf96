using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Calls;

/// <summary>What a retry adds to metadata counts for no limit; what only looks like it does.</summary>
public class PreviousAttemptsTests
{
    [TestCase("1")]
    [TestCase("2147483647")]
    public void MeasureBytes_OfTheEntryOfARetry_LeavesItOut(string value)
    {
        var metadata = new Metadata { { "key", "four" }, { PreviousAttempts.Key, value }, { "raw-bin", [1, 2] } };

        Assert.That(PreviousAttempts.MeasureBytes(metadata), Is.EqualTo(3 + 4 + 32 + 7 + 2 + 32));
    }

    [Test]
    public void MeasureBytes_OfWhatNoRetryHasAdded_CountsIt()
    {
        int key = PreviousAttempts.Key.Length;
        var tooLong = new Metadata { { PreviousAttempts.Key, "12345678901" } };
        var twice = new Metadata { { PreviousAttempts.Key, "1" }, { PreviousAttempts.Key, "2" } };

        Assert.That(PreviousAttempts.MeasureBytes(tooLong), Is.EqualTo(key + 11 + 32));
        Assert.That(PreviousAttempts.MeasureBytes(twice), Is.EqualTo(key + 1 + 32));
        Assert.That(PreviousAttempts.MeasureBytes([]), Is.Zero);
    }
}
