namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>
/// Calls that are cancelled, disposed of, timed out and failed by their handlers at random moments, from many threads.
/// </summary>
[EveryRig]
internal sealed class RandomEndTests(RigKind kind) : RigFixture(kind)
{
    private const int MethodThrew = 301;

    [Test]
    [NotOn(
        RigKind.GrpcDotNet,
        "It tells the response one end and GetStatus another when a token races with the server's end.")]
    public async Task Calls_EndedAtRandom_EndWithExactlyOneStatusEach()
    {
        var handlers = new PlannedHandlers();
        CallRig rig = await StartAsync(handlers.Script);
        rig.Log.Expect(MethodThrew);

        CallNotes notes = RandomLoad.Run(rig.Client);
        await Timeouts.Eventually(() => handlers.Ended == handlers.Began);

        Assert.That(notes.Problems, Is.Empty);
        Assert.That(notes.Statuses, Has.Count.EqualTo(RandomLoad.Calls));

        // Every way to end was taken, so the load is what it says.
        Assert.That(notes.Statuses.Distinct(), Is.EquivalentTo(new[]
        {
            StatusCode.OK, StatusCode.Aborted, StatusCode.Unknown, StatusCode.Cancelled, StatusCode.DeadlineExceeded,
        }));
    }
}
