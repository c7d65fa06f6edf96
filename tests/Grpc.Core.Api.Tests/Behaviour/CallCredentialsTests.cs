using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class CallCredentialsTests
{
    private static readonly AsyncAuthInterceptor s_interceptor = (_, _) => Task.CompletedTask;
    private static readonly CallCredentials s_one = CallCredentials.FromInterceptor(s_interceptor);
    private static readonly CallCredentials s_two = CallCredentials.FromInterceptor(s_interceptor);

    [Test]
    public void FromInterceptor_Configured_HandsOverInterceptorAndState()
    {
        var configurator = new RecordingCallCredentialsConfigurator();
        var state = new object();

        s_one.InternalPopulateConfiguration(configurator, state);

        Assert.That(configurator.Interceptor, Is.SameAs(s_interceptor));
        Assert.That(configurator.State, Is.SameAs(state));
        Assert.That(configurator.Parts, Is.Null);
    }

    [Test]
    public void FromInterceptor_Null_ThrowsArgumentNull()
    {
        Assert.That(() => CallCredentials.FromInterceptor(null!), Errors.NullArgument("interceptor"));
    }

    [Test]
    public void Compose_Configured_HandsOverPartsInOrderAndState()
    {
        var configurator = new RecordingCallCredentialsConfigurator();
        var state = new object();

        CallCredentials.Compose(s_one, s_two, s_one).InternalPopulateConfiguration(configurator, state);

        Assert.That(configurator.Parts, Is.EqualTo([s_one, s_two, s_one]));
        Assert.That(configurator.State, Is.SameAs(state));
        Assert.That(configurator.Interceptor, Is.Null);
    }

    [Test]
    public void Compose_ArrayChangedLater_KeepsItsParts()
    {
        var configurator = new RecordingCallCredentialsConfigurator();
        CallCredentials[] parts = [s_one, s_two];
        var composite = CallCredentials.Compose(parts);

        parts[0] = s_two;
        composite.InternalPopulateConfiguration(configurator, null);

        Assert.That(configurator.Parts, Is.EqualTo([s_one, s_two]));
    }

    [Test]
    public void Compose_PartsHandedOver_CannotBeChanged()
    {
        var configurator = new RecordingCallCredentialsConfigurator();

        CallCredentials.Compose(s_one, s_two).InternalPopulateConfiguration(configurator, null);

        Assert.That(
            () => ((IList<CallCredentials>)configurator.Parts!).Add(s_one),
            Throws.TypeOf<NotSupportedException>());
    }

    [Test]
    public void Compose_FewerThanTwo_ThrowsArgument()
    {
        const string Message = "Composite credentials object can only be created from 2 or more credentials.";

        Assert.That(
            () => CallCredentials.Compose(s_one),
            Throws.TypeOf<ArgumentException>().With.Message.EqualTo(Message));
        Assert.That(
            () => CallCredentials.Compose(),
            Throws.TypeOf<ArgumentException>().With.Message.EqualTo(Message));
    }

    [Test]
    public void Compose_Composite_Nests()
    {
        var configurator = new RecordingCallCredentialsConfigurator();
        var inner = CallCredentials.Compose(s_one, s_two);

        CallCredentials.Compose(inner, s_one).InternalPopulateConfiguration(configurator, null);

        Assert.That(configurator.Parts, Is.EqualTo([inner, s_one]));
    }
}
