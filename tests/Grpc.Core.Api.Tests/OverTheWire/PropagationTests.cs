using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.OverTheWire;

/// <summary>A server call hands its deadline to a child call, by a token that only Grpc.Core can make.</summary>
public class PropagationTests
{
    private static readonly Method<string, string> s_child = new(
        MethodType.Unary, "test.Echo", "Child", Marshallers.StringMarshaller, Marshallers.StringMarshaller);

    [Test]
    public async Task ChildCall_WithPropagationToken_InheritsTheDeadline()
    {
        var deadline = DateTime.UtcNow.AddMinutes(5);

        Assert.That(
            await ChildDeadline(deadline, ContextPropagationOptions.Default),
            Is.EqualTo(deadline).Within(TimeSpan.FromMinutes(1)));
    }

    [Test]
    public async Task ChildCall_WithoutDeadlinePropagation_HasNone()
    {
        var options = new ContextPropagationOptions(propagateDeadline: false);

        Assert.That(
            await ChildDeadline(DateTime.UtcNow.AddMinutes(5), options),
            Is.EqualTo(DateTime.MaxValue));
    }

    private static async Task<DateTime> ChildDeadline(DateTime deadline, ContextPropagationOptions options)
    {
        var childDeadline = DateTime.MinValue;
        var kept = false;
        CallInvoker? invoker = null;
        await using var rig = GrpcCoreRig.Start(builder => builder
            .AddMethod(TestMethods.Unary, async (request, context) =>
            {
                var token = context.CreatePropagationToken(options);
                var child = new CallOptions().WithPropagationToken(token);
                kept = ReferenceEquals(child.PropagationToken, token);
                return await invoker!.AsyncUnaryCall(s_child, null, child, request);
            })
            .AddMethod(s_child, (request, context) =>
            {
                childDeadline = context.Deadline;
                return Task.FromResult(request);
            }));
        invoker = rig.Invoker;

        var parent = new CallOptions(deadline: deadline);
        using var call = invoker.AsyncUnaryCall(TestMethods.Unary, null, parent, "request");
        Assert.That(await call.Bounded(), Is.EqualTo("request"));
        Assert.That(kept, "The options have the token that they were given.");
        return childDeadline;
    }
}
