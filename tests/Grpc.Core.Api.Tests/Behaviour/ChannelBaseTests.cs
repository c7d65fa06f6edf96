using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class ChannelBaseTests
{
    [Test]
    public void Target_OfChannel_IsAsGiven()
    {
        Assert.That(new FakeChannel("shm://x", new RecordingCallInvoker()).Target, Is.EqualTo("shm://x"));
    }

    [Test]
    public void Constructor_NullTarget_ThrowsArgumentNull()
    {
        Assert.That(() => new FakeChannel(null!, new RecordingCallInvoker()), Errors.NullArgument("target"));
    }

    [Test]
    public void ShutdownAsync_NotOverridden_IsDoneAtOnce()
    {
        var shutdown = new FakeChannel("shm://x", new RecordingCallInvoker()).ShutdownAsync();

        Assert.That(shutdown.IsCompletedSuccessfully);
    }

    [Test]
    public void ShutdownAsync_Overridden_RunsTheOverride()
    {
        var shutdown = new StubbornChannel().ShutdownAsync();

        Assert.That(shutdown.IsFaulted);
        Assert.That(shutdown.Exception!.InnerException, Is.TypeOf<TimeoutException>());
    }

    private sealed class StubbornChannel() : ChannelBase("shm://x")
    {
        public override CallInvoker CreateCallInvoker() => new RecordingCallInvoker();

        protected override Task ShutdownAsyncCore() => Task.FromException(new TimeoutException());
    }
}
