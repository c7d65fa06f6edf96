using Grpc.Core;
using RpcOverShm.Servers;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Tests.Servers;

/// <summary>The methods of an activated service are those that the generated code binds.</summary>
[TestFixture]
public class ServiceBindingTests
{
    [Test]
    public void Of_AServiceWithAnOverride_ANewMethodAndOverloads_RunsTheOverride()
    {
        var bound = new ActivatedServiceBuilder<Derived>(Activation<Derived>());
        ServiceBinding.FindBindService<Derived>()(new ActivatedServiceBinder<Derived>(bound), null);

        (_, IReadOnlyCollection<string> methods) = bound.Build();
        Assert.That(methods, Does.Contain("/rpcovershm.testing.Conformance/Echo"));
        Assert.That(methods, Has.Count.EqualTo(Conformance.Descriptor.Methods.Count));
    }

    [Test]
    public void Find_SkipsMethodsThatHideOnes_AndCallsVirtually()
    {
        var find = ActivatedServiceBinder<Derived>.Find<Func<Derived, Payload, ServerCallContext, Task<Payload>>>(
            "Echo", "/test", typeof(Payload), typeof(ServerCallContext));
        var delay = ActivatedServiceBinder<Derived>.Find<Func<Derived, DelayRequest, ServerCallContext, Task<Payload>>>(
            "Delay", "/test", typeof(DelayRequest), typeof(ServerCallContext));

        Assert.That(find(new Derived(), new Payload(), null!).Result.Data.ToStringUtf8(), Is.EqualTo("override"));
        Assert.That(
            () => delay(new Derived(), new DelayRequest(), null!),
            Throws.InstanceOf<RpcException>().With.Message.Contains("Unimplemented"));
    }

    [Test]
    public void Find_OfAMethodThatIsNotThere_IsRefused() => Assert.That(
        () => ActivatedServiceBinder<Derived>.Find<Func<Derived, Payload, ServerCallContext, Task<Payload>>>(
            "Lost", "/test/Lost", typeof(Payload), typeof(ServerCallContext)),
        Throws.ArgumentException.With.Message.Contains("no public method for /test/Lost"));

    [Test]
    public void Generated_OfAnotherClass_IsRefused() => Assert.That(
        () => ServiceBinding.FindBindService<string>(),
        Throws.ArgumentException.With.Message.Contains("System.String"));

    private static ServiceActivation<T> Activation<T>()
        where T : class, new() => new(
            new InstanceSettings(InstanceLifetime.Call, null, 0),
            (_, _) => new ActivationResult<T>(new T(), Release: null));

    private class Middle : Conformance.ConformanceBase
    {
        public override Task<Payload> Echo(Payload request, ServerCallContext context) => Of("middle");

        protected static Task<Payload> Of(string text) =>
            Task.FromResult(new Payload { Data = Google.Protobuf.ByteString.CopyFromUtf8(text) });
    }

    private sealed class Derived : Middle
    {
        public override Task<Payload> Echo(Payload request, ServerCallContext context) => Of("override");

        public Task<Payload> Echo(Payload request) => Of($"overload of {this}: {request}");

        public Task<T> Echo<T>(T request, ServerCallContext context) => Of($"{this}, {context}") is { } _
            ? Task.FromResult(request)
            : throw new InvalidOperationException();

        public new Task<Payload> Delay(DelayRequest request, ServerCallContext context) =>
            Of($"new of {this}: {request}, {context}");
    }
}
