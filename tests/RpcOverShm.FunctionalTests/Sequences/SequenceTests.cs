namespace RpcOverShm.FunctionalTests.Sequences;

/// <summary>Random sequences of a call's steps, whose results must match those over gRPC.</summary>
internal sealed class SequenceTests
{
    private const int AtOnce = 32;
    private const int MethodThrew = 301;

    [TestCase(32)]
    [TestCase(320, Category = LongAttribute.Name)]
    public async Task Steps_OfRandomSequences_SeeWhatTheySeeOverGrpc(int usualCount)
    {
        Random random = TestSeed.NewRandom();

        // Races decide the results of concurrent steps, which only many repeats can compare.
        bool isPaused = FuzzInputs.Count(usualCount) <= usualCount;
        await using CallRig shm = await StartAsync(RigKind.Shm);
        await using CallRig core = await StartAsync(RigKind.GrpcCore);
        await using CallRig dotNet = await StartAsync(RigKind.GrpcDotNet);
        var comparison = new SequenceComparison(shm.Client, [core.Client, dotNet.Client], isStrict: isPaused);

        var differences = new List<string>();
        foreach (int[] numbers in FuzzInputs.Numbers(usualCount).Chunk(AtOnce))
        {
            string?[] found = await Task.WhenAll(
                numbers.Select(_ => comparison.FindDifferenceAsync(CallSequence.Next(random, isPaused))));
            foreach (string difference in found.OfType<string>())
            {
                await TestContext.Progress.WriteLineAsync(difference);
                differences.Add(difference);
            }
        }

        Assert.That(differences, Is.Empty);
    }

    private static async Task<CallRig> StartAsync(RigKind kind)
    {
        CallRig rig = await CallRig.StartAsync(kind, options: null, SequenceMethods.Script.Build());
        rig.Log.Expect(MethodThrew);
        return rig;
    }
}
