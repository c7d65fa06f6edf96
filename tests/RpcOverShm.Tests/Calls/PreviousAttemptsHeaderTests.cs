using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Calls;

/// <summary>The entry that a retry adds to metadata counts towards no limit; similar entries of users do.</summary>
public class PreviousAttemptsHeaderTests
{
    [TestCase("1")]
    [TestCase("2147483647")]
    public void MeasureBytes_OfTheEntryOfARetry_LeavesItOut(string value)
    {
        var metadata = new Metadata { { "key", "four" }, { PreviousAttemptsHeader.Key, value }, { "raw-bin", [1, 2] } };

        Assert.That(PreviousAttemptsHeader.MeasureBytes(metadata), Is.EqualTo(3 + 4 + 32 + 7 + 2 + 32));
    }

    [Test]
    public void MeasureBytes_OfWhatNoRetryHasAdded_CountsIt()
    {
        int key = PreviousAttemptsHeader.Key.Length;
        var tooLong = new Metadata { { PreviousAttemptsHeader.Key, "12345678901" } };
        var twice = new Metadata { { PreviousAttemptsHeader.Key, "1" }, { PreviousAttemptsHeader.Key, "2" } };

        Assert.That(PreviousAttemptsHeader.MeasureBytes(tooLong), Is.EqualTo(key + 11 + 32));
        Assert.That(PreviousAttemptsHeader.MeasureBytes(twice), Is.EqualTo(key + 1 + 32));
        Assert.That(PreviousAttemptsHeader.MeasureBytes([]), Is.Zero);
    }
}
