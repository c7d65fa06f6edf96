namespace Grpc.Core.Api.Tests.Behaviour;

public class CallOptionsTests
{
    private static readonly Metadata s_headers = [];
    private static readonly DateTime s_deadline = new(2030, 1, 1, 0, 0, 0, DateTimeKind.Utc);
    private static readonly WriteOptions s_writeOptions = new(WriteFlags.NoCompress);
    private static readonly CallCredentials s_credentials =
        CallCredentials.FromInterceptor((_, _) => Task.CompletedTask);

    [Test]
    public void Constructor_NoArguments_LeavesEverythingUnset()
    {
        AssertUnset(new CallOptions());
        AssertUnset(default);
        AssertUnset(new CallOptions(headers: null));
    }

    [Test]
    public void Constructor_AllArguments_KeepsThem()
    {
        using var source = new CancellationTokenSource();

        AssertAllSet(
            new CallOptions(s_headers, s_deadline, source.Token, s_writeOptions, null, s_credentials), source.Token);
    }

    [Test]
    public void With_EachInTurn_AddsUpToAll()
    {
        using var source = new CancellationTokenSource();

        var options = new CallOptions()
            .WithHeaders(s_headers)
            .WithDeadline(s_deadline)
            .WithCancellationToken(source.Token)
            .WithWriteOptions(s_writeOptions)
            .WithCredentials(s_credentials);

        AssertAllSet(options, source.Token);
    }

    [Test]
    public void With_Anything_LeavesTheOriginalAlone()
    {
        using var source = new CancellationTokenSource();
        var options = new CallOptions();

        _ = options.WithHeaders(s_headers);
        _ = options.WithDeadline(s_deadline);
        _ = options.WithCancellationToken(source.Token);
        _ = options.WithWriteOptions(s_writeOptions);
        _ = options.WithCredentials(s_credentials);
        _ = options.WithWaitForReady();

        AssertUnset(options);
    }

    [Test]
    public void WithWaitForReady_OnAndOff_SwitchesIt()
    {
        var waiting = new CallOptions(s_headers).WithWaitForReady();

        Assert.That(waiting.IsWaitForReady);
        Assert.That(waiting.WithWaitForReady(false).IsWaitForReady, Is.False);
        Assert.That(waiting.WithWaitForReady(true).IsWaitForReady);
        Assert.That(waiting.Headers, Is.SameAs(s_headers));
    }

    [Test]
    public void WithHeaders_WaitingOptions_KeepWaiting()
    {
        Assert.That(new CallOptions().WithWaitForReady().WithHeaders(s_headers).IsWaitForReady);
    }

    private static void AssertUnset(CallOptions options)
    {
        Assert.That(options.Headers, Is.Null);
        Assert.That(options.Deadline, Is.Null);
        Assert.That(options.CancellationToken, Is.EqualTo(CancellationToken.None));
        Assert.That(options.WriteOptions, Is.Null);
        Assert.That(options.PropagationToken, Is.Null);
        Assert.That(options.Credentials, Is.Null);
        Assert.That(options.IsWaitForReady, Is.False);
    }

    private static void AssertAllSet(CallOptions options, CancellationToken token)
    {
        Assert.That(options.Headers, Is.SameAs(s_headers));
        Assert.That(options.Deadline, Is.EqualTo(s_deadline));
        Assert.That(options.CancellationToken, Is.EqualTo(token));
        Assert.That(options.WriteOptions, Is.SameAs(s_writeOptions));
        Assert.That(options.Credentials, Is.SameAs(s_credentials));
        Assert.That(options.IsWaitForReady, Is.False);
    }
}
