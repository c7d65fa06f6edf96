namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>Calls of many threads that are cancelled, disposed, timed out and failed at random moments.</summary>
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

        // The load has covered every kind of end.
        Assert.That(notes.Statuses.Distinct(), Is.EquivalentTo(new[]
        {
            StatusCode.OK, StatusCode.Aborted, StatusCode.Unknown, StatusCode.Cancelled, StatusCode.DeadlineExceeded,
        }));
    }
}
