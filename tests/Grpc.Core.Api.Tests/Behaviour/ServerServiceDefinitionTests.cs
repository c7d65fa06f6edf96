using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class ServerServiceDefinitionTests
{
    private static readonly UnaryServerMethod<string, string> s_unary = (request, _) => Task.FromResult(request);
    private static readonly ClientStreamingServerMethod<string, string> s_client = (_, _) => Task.FromResult("");
    private static readonly ServerStreamingServerMethod<string, string> s_server = (_, _, _) => Task.CompletedTask;
    private static readonly DuplexStreamingServerMethod<string, string> s_duplex = (_, _, _) => Task.CompletedTask;

    [Test]
    public void BindService_AllKinds_ReplaysThemInOrder()
    {
        var binder = new RecordingServiceBinder();

        ServerServiceDefinition.CreateBuilder()
            .AddMethod(TestMethods.DuplexStreaming, s_duplex)
            .AddMethod(TestMethods.Unary, s_unary)
            .AddMethod(TestMethods.ServerStreaming, s_server)
            .AddMethod(TestMethods.ClientStreaming, s_client)
            .Build()
            .BindService(binder);

        Assert.That(
            binder.Bound,
            Is.EqualTo(new (IMethod, Delegate?)[]
            {
                (TestMethods.DuplexStreaming, s_duplex),
                (TestMethods.Unary, s_unary),
                (TestMethods.ServerStreaming, s_server),
                (TestMethods.ClientStreaming, s_client),
            }));
    }

    [Test]
    public void BindService_Twice_ReplaysTwice()
    {
        var binder = new RecordingServiceBinder();
        var definition = new ServerServiceDefinition.Builder().AddMethod(TestMethods.Unary, s_unary).Build();

        definition.BindService(binder);
        definition.BindService(binder);

        Assert.That(binder.Bound, Has.Count.EqualTo(2));
    }

    [Test]
    public void BindService_NothingAdded_DoesNothing()
    {
        var binder = new RecordingServiceBinder();

        ServerServiceDefinition.CreateBuilder().Build().BindService(binder);

        Assert.That(binder.Bound, Is.Empty);
    }

    [Test]
    public void AddMethod_Builder_ReturnsItself()
    {
        var builder = ServerServiceDefinition.CreateBuilder();

        Assert.That(builder.AddMethod(TestMethods.Unary, s_unary), Is.SameAs(builder));
    }

    [Test]
    public void AddMethod_SameFullNameAgain_ThrowsArgument()
    {
        var builder = ServerServiceDefinition.CreateBuilder().AddMethod(TestMethods.Unary, s_unary);

        Assert.That(
            () => builder.AddMethod(TestMethods.Unary, s_unary),
            Throws.TypeOf<ArgumentException>().With.Message.Contains("/test.Echo/Unary"));
    }

    [Test]
    public void AddMethod_SameFullNameOfOtherKind_ThrowsArgument()
    {
        var builder = ServerServiceDefinition.CreateBuilder().AddMethod(TestMethods.Unary, s_unary);

        Assert.That(() => builder.AddMethod(TestMethods.Unary, s_client), Throws.TypeOf<ArgumentException>());
        Assert.That(() => builder.AddMethod(TestMethods.Unary, s_server), Throws.TypeOf<ArgumentException>());
        Assert.That(() => builder.AddMethod(TestMethods.Unary, s_duplex), Throws.TypeOf<ArgumentException>());
    }

    [Test]
    public void AddMethod_Refused_IsNotBound()
    {
        var binder = new RecordingServiceBinder();
        var builder = ServerServiceDefinition.CreateBuilder().AddMethod(TestMethods.Unary, s_unary);

        Assert.That(() => builder.AddMethod(TestMethods.Unary, s_unary), Throws.ArgumentException);
        builder.Build().BindService(binder);

        Assert.That(binder.Bound, Has.Count.EqualTo(1));
    }

    [Test]
    public void AddMethod_AfterBuild_ReachesTheDefinitionToo()
    {
        // The package's definition is a view of the builder's list, and so is this one.
        var binder = new RecordingServiceBinder();
        var builder = ServerServiceDefinition.CreateBuilder();
        var definition = builder.Build();

        builder.AddMethod(TestMethods.Unary, s_unary);
        definition.BindService(binder);

        Assert.That(binder.Bound, Has.Count.EqualTo(1));
    }

    [Test]
    public void BindService_BareBinder_ThrowsNotImplemented()
    {
        var binder = new ServiceBinderBase();

        Assert.That(() => binder.AddMethod(TestMethods.Unary, s_unary), Throws.TypeOf<NotImplementedException>());
        Assert.That(() => binder.AddMethod(TestMethods.Unary, s_client), Throws.TypeOf<NotImplementedException>());
        Assert.That(() => binder.AddMethod(TestMethods.Unary, s_server), Throws.TypeOf<NotImplementedException>());
        Assert.That(() => binder.AddMethod(TestMethods.Unary, s_duplex), Throws.TypeOf<NotImplementedException>());
    }

    [Test]
    public void AddMethod_NullHandler_IsPassedOn()
    {
        // Generated code binds a null implementation where only the description of a service is wanted.
        var binder = new RecordingServiceBinder();

        binder.AddMethod(TestMethods.Unary, (UnaryServerMethod<string, string>?)null);

        Assert.That(binder.Bound.Single().Handler, Is.Null);
    }
}
