using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

/// <summary>What debuggers show of calls, clients and metadata.</summary>
public class DebuggingTests
{
    private static readonly FakeChannel s_channel = new("shm://x", new RecordingCallInvoker());
    private static readonly FakeStreamWriter<string> s_writer = new();
    private static readonly FakeStreamReader<string> s_reader = new();
    private static readonly Status s_ok = new(StatusCode.OK, "");

    [Test]
    public void Display_RunningCall_HasChannelAndMethod()
    {
        using var call = Unary(State(null));

        Assert.That(
            Debugging.Display(call),
            Is.EqualTo("Channel = shm://x, Method = /test.Echo/Unary, IsComplete = false"));
    }

    [Test]
    public void Display_FinishedCall_HasItsStatusCode()
    {
        using var call = Unary(new DebuggableCallState { Outcome = new Status(StatusCode.Aborted, "stop") });

        Assert.That(Debugging.Display(call), Is.EqualTo("IsComplete = true, StatusCode = Aborted"));
    }

    [Test]
    public void Display_ValuesOfUnexpectedTypes_LeavesThemOut()
    {
        using var call = Unary(new DebuggableCallState(("Channel", "text"), ("Method", 1), ("Other", s_channel)));

        Assert.That(Debugging.Display(call), Is.EqualTo("IsComplete = false"));
    }

    [Test]
    public void Display_CallOfClosures_HasCompletionOnly()
    {
        using var call = FakeCalls.ServerStreaming<string>();

        Assert.That(Debugging.Display(call), Is.EqualTo("IsComplete = true, StatusCode = OK"));
    }

    [Test]
    public void Display_OtherKindsOfCall_IsTheSame()
    {
        using var clientStreaming = FakeCalls.ClientStreaming<string, string>();
        using var duplex = FakeCalls.DuplexStreaming<string, string>();

        Assert.That(Debugging.Display(clientStreaming), Is.EqualTo("IsComplete = true, StatusCode = OK"));
        Assert.That(Debugging.Display(duplex), Is.EqualTo("IsComplete = true, StatusCode = OK"));
    }

    [Test]
    public void View_RunningUnaryCall_WaitsForNothing()
    {
        using var call = Unary(State(null), new TaskCompletionSource<string>().Task);

        var view = Debugging.View(call);

        Assert.That(view["IsComplete"], Is.False);
        Assert.That(view["Status"], Is.Null);
        Assert.That(view["Trailers"], Is.Null);
        Assert.That(view["ResponseHeaders"], Is.Null);
        Assert.That(view["Response"], Is.Null);
        Assert.That(view["Request"], Is.EqualTo("request"));
        Assert.That(view["Channel"], Is.SameAs(s_channel));
        Assert.That(Debugging.Display(view["Method"]!), Is.EqualTo("/test.Echo/Unary"));
    }

    [Test]
    public void View_MethodOfCall_HasItsNamesAndType()
    {
        using var call = Unary(State(null));
        var method = Debugging.View(call)["Method"]!;

        var shown = method.GetType().GetProperties()
            .ToDictionary(property => property.Name, property => property.GetValue(method));

        Assert.That(
            shown,
            Is.EquivalentTo(new Dictionary<string, object>
            {
                ["Type"] = MethodType.Unary,
                ["ServiceName"] = "test.Echo",
                ["Name"] = "Unary",
                ["FullName"] = "/test.Echo/Unary",
            }));
    }

    [Test]
    public void View_FinishedUnaryCall_HasEverything()
    {
        var state = State(s_ok);
        state.Headers.SetResult([new("header", "1")]);
        using var call = Unary(state);

        var view = Debugging.View(call);

        Assert.That(view["IsComplete"], Is.True);
        Assert.That(view["Status"], Is.EqualTo(s_ok));
        Assert.That(view["Response"], Is.EqualTo("response"));
        Assert.That(((Metadata)view["ResponseHeaders"]!).GetValue("header"), Is.EqualTo("1"));
        Assert.That(((Metadata)view["Trailers"]!).GetValue("trailer"), Is.EqualTo("1"));
    }

    [Test]
    public void View_ServerStreamingCall_HasStreamAndRequest()
    {
        using var call = new AsyncServerStreamingCall<string>(
            s_reader, DebuggableCallState.HeadersOf, DebuggableCallState.StatusOf, DebuggableCallState.TrailersOf,
            _ => { }, State(null));

        AssertView(call, ("ResponseStream", s_reader), ("Request", "request"), ("IsComplete", false));
    }

    [Test]
    public void View_ClientStreamingCall_HasStreamAndResponse()
    {
        using var call = new AsyncClientStreamingCall<string, string>(
            s_writer, Task.FromResult("response"), DebuggableCallState.HeadersOf, DebuggableCallState.StatusOf,
            DebuggableCallState.TrailersOf, _ => { }, State(s_ok));

        AssertView(call, ("RequestStream", s_writer), ("Response", "response"), ("IsComplete", true));
    }

    [Test]
    public void View_DuplexStreamingCall_HasBothStreams()
    {
        using var call = new AsyncDuplexStreamingCall<string, string>(
            s_writer, s_reader, DebuggableCallState.HeadersOf, DebuggableCallState.StatusOf,
            DebuggableCallState.TrailersOf, _ => { }, State(s_ok));

        AssertView(call, ("RequestStream", s_writer), ("ResponseStream", s_reader), ("IsComplete", true));
    }

    [Test]
    public void Display_GeneratedClient_HasServiceName()
    {
        var client = new FakeService.FakeClient(new RecordingCallInvoker());

        Assert.That(Debugging.Display(client), Does.StartWith("Service = \"test.Fake\", ").And.Contains("Invoker"));
    }

    [Test]
    public void View_GeneratedClient_HasServiceMethodsAndInvoker()
    {
        var client = new FakeService.FakeClient(new RecordingCallInvoker());

        AssertView(client, ("Service", FakeService.Name), ("Methods", new[] { FakeService.Call }));
    }

    [Test]
    public void View_ClientOutsideAServiceClass_HasNoService()
    {
        AssertView(new LooseClient(), ("Service", null), ("Methods", null));
        Assert.That(Debugging.Display(new LooseClient()), Does.Not.Contain("Service"));
    }

    [Test]
    public void Display_Metadata_HasCount()
    {
        Assert.That(Debugging.Display(new Metadata { { "key", "value" } }), Is.EqualTo("Count = 1"));
        Assert.That(Debugging.Display(Metadata.Empty), Is.EqualTo("Count = 0, IsReadOnly = true"));
    }

    [Test]
    public void View_Metadata_HasItsEntries()
    {
        Metadata metadata = [new("key", "value")];

        AssertView(metadata, ("Items", new[] { metadata[0] }));
    }

    private static DebuggableCallState State(Status? outcome)
    {
        return new(("Channel", s_channel), ("Method", TestMethods.Unary), ("Request", "request")) { Outcome = outcome };
    }

    private static AsyncUnaryCall<string> Unary(DebuggableCallState state, Task<string>? response = null)
    {
        return new AsyncUnaryCall<string>(
            response ?? Task.FromResult("response"),
            DebuggableCallState.HeadersOf,
            DebuggableCallState.StatusOf,
            DebuggableCallState.TrailersOf,
            _ => { },
            state);
    }

    private static void AssertView(object value, params (string Name, object? Value)[] expected)
    {
        var view = Debugging.View(value);

        Assert.That(expected.Select(property => view[property.Name]), Is.EqualTo(expected.Select(p => p.Value)));
    }
}
