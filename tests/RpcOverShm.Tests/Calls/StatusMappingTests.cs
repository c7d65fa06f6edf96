using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Calls;

public class StatusMappingTests
{
    [TestCase("Local", StatusCode.Cancelled, "gRPC call disposed.")]
    [TestCase("PeerClosed", StatusCode.Unavailable, "the text")]
    [TestCase("PeerLost", StatusCode.Unavailable, "the text")]
    [TestCase("PeerViolation", StatusCode.Internal, "the text")]
    [TestCase("InternalError", StatusCode.Internal, "the text")]
    [TestCase("NoResources", StatusCode.Unavailable, "the text")]
    public void FromClose_OfAReason_IsTheTable(string cause, StatusCode code, string detail)
    {
        Status status = StatusMapping.FromClose(new CloseReason(Enum.Parse<CloseKind>(cause), "the text"));

        Assert.That((status.StatusCode, status.Detail), Is.EqualTo((code, detail)));
    }

    [Test]
    public void FromClose_OfEveryCause_IsInTheTable()
    {
        Assert.That(Enum.GetNames<CloseKind>(), Has.Length.EqualTo(6));
    }

    [TestCase("NotListening", StatusCode.Unavailable)]
    [TestCase("TimedOut", StatusCode.Unavailable)]
    [TestCase("Refused", StatusCode.Unavailable)]
    [TestCase("SystemError", StatusCode.Unavailable)]
    [TestCase("NotThisProtocol", StatusCode.Internal)]
    [TestCase("VersionMismatch", StatusCode.Internal)]
    [TestCase("PurposeMismatch", StatusCode.Internal)]
    [TestCase("AccessDenied", StatusCode.PermissionDenied)]
    [TestCase("AddressInUse", StatusCode.Internal)]
    public void FromConnectFailure_OfAFailure_IsTheTable(string failure, StatusCode code)
    {
        var exception = new ConnectException(Enum.Parse<ConnectFailure>(failure), "no way");

        Status status = StatusMapping.FromConnectFailure(exception);

        Assert.That(status.StatusCode, Is.EqualTo(code));
        Assert.That(status.Detail, Is.EqualTo("Error starting gRPC call. no way"));
        Assert.That(status.DebugException, Is.SameAs(exception), "Without a publisher.");
    }

    [Test]
    public void Failures_AreThePublicErrors_UnderTheSameNumbers() =>
        Assert.That(Enum.GetNames<ConnectFailure>(), Is.EqualTo(Enum.GetNames<ShmTransportError>()));

    [Test]
    public void FromHandlerException_OfAnRpcException_IsItsStatus()
    {
        var status = new Status(StatusCode.NotFound, "gone");

        Assert.That(
            StatusMapping.FromHandlerException(new RpcException(status), isDetailed: false, "server"),
            Is.EqualTo(status));
    }

    [TestCase(false, "Exception was thrown by handler.")]
    [TestCase(true, "Exception was thrown by handler. FormatException: secret")]
    public void FromHandlerException_OfAnythingElse_TellsDetailsOnlyWhereAsked(bool isDetailed, string detail)
    {
        Status status = StatusMapping.FromHandlerException(new FormatException("secret"), isDetailed, "server");

        Assert.That((status.StatusCode, status.Detail), Is.EqualTo((StatusCode.Unknown, detail)));
        Assert.That(status.DebugException, Is.Null, "It is on its way to another process.");
    }

    [Test]
    public void EveryMapping_OfAnExceptionThatThrowsWhenItIsAsked_IsAStatusThatCanBeThrown()
    {
        var exception = new InvalidOperationException("outer", new MuteException());
        Status[] statuses =
        [
            StatusMapping.FromStartFailure(exception),
            StatusMapping.FromRequestFailure(exception, "client"),
            StatusMapping.FromUnreadableResponse(new MuteException()),
            StatusMapping.FromCredentialsFailure(new IOException("outer", exception)),
            StatusMapping.FromCredentialsFailure(new OperationCanceledException("outer", exception)),
            StatusMapping.FromHandlerException(exception, isDetailed: true, "server"),
        ];

        foreach (Status status in statuses)
        {
            Assert.That(status.DebugException, Is.Null);
            Assert.That(() => new RpcException(status), Throws.Nothing);
        }

        Assert.That(
            statuses[^1].Detail,
            Is.EqualTo(
                "Exception was thrown by handler. InvalidOperationException: outer "
                + "MuteException: (its message throws NotSupportedException)"));
    }

    [Test]
    public void Statuses_ThatProgramsCompare_AreThoseOfGrpcDotnet()
    {
        const string advice = "Raise it there, or send the data as a stream of smaller messages.";
        var tooLarge = new MessageTooLargeException(5, 3, "That");
        var inner = new FormatException("inner");
        var outer = new InvalidOperationException("outer", inner);
        (Status, StatusCode, string)[] expected =
        [
            (StatusMapping.ClientCancelled, StatusCode.Cancelled, "Call canceled by the client."),
            (StatusMapping.Disposed, StatusCode.Cancelled, "gRPC call disposed."),
            (StatusMapping.ClientDeadline, StatusCode.DeadlineExceeded, ""),
            (StatusMapping.ServerDeadline, StatusCode.DeadlineExceeded, "Deadline Exceeded"),
            (StatusMapping.ReceivedTooLarge(5, 3, "server"), StatusCode.ResourceExhausted,
                "Received message exceeds the maximum configured message size. The message has 5 bytes; "
                + "MaxReceiveMessageSize of the server allows 3. " + advice),
            (StatusMapping.FromRequestFailure(tooLarge, "client"), StatusCode.ResourceExhausted,
                "Sending message exceeds the maximum configured message size. The message has 5 bytes; "
                + "That of the client allows 3. " + advice),
            (StatusMapping.FromHandlerException(tooLarge, isDetailed: false, "server"), StatusCode.ResourceExhausted,
                "Sending message exceeds the maximum configured message size. The message has 5 bytes; "
                + "That of the server allows 3. " + advice),
            (StatusMapping.FromRequestFailure(outer, "client"), StatusCode.Internal,
                "Error starting gRPC call. InvalidOperationException: outer FormatException: inner"),
            (StatusMapping.FromUnreadableResponse(inner), StatusCode.Internal,
                "Failed to deserialize response message. FormatException: inner"),
        ];

        foreach ((Status status, StatusCode code, string detail) in expected)
        {
            Assert.That((status.StatusCode, status.Detail), Is.EqualTo((code, detail)));
        }

        Assert.That(StatusMapping.NoMessageDetail, Is.EqualTo("No message returned from method."));
        Assert.That(StatusMapping.MethodUnknownDetail, Is.EqualTo("Method is unimplemented."));
        Assert.That(StatusMapping.ServiceUnknownDetail, Is.EqualTo("Service is unimplemented."));
        Assert.That(StatusMapping.AdditionalMessageDetail, Is.EqualTo("Additional data after the message received."));
    }

    [Test]
    public void Limits_InTheirDetails_AreNamed()
    {
        Assert.That(StatusMapping.TooManyCalls(new PeerLimits(0, 0, 7, 0)).Detail, Does.Contain("at most 7 calls"));
        Assert.That(
            StatusMapping.TooManyWaiting("MaxConcurrentCalls", 9, 8).Detail,
            Does.Contain("at most 9 calls").And.Contain("8 more").And.Contain("MaxConcurrentCalls"));
        Assert.That(
            StatusMapping.BufferFull(new BufferBudget("MaxBufferSize", 5)).Detail,
            Does.Contain("at most 5 bytes").And.Contain("MaxBufferSize"));
        Assert.That(
            StatusMapping.HeadTooLate(TimeSpan.FromSeconds(3)).Detail,
            Does.Contain("within 3 s").And.Contain("RequestHeadTimeout"));
        Assert.That(
            StatusMapping.MetadataTooLarge("This", 5).Detail,
            Is.EqualTo("This is larger than the 5 bytes that are allowed (MaxMetadataSize)."));
        Assert.That(
            StatusMapping.CodecUnknown("x", ["proto", "y"]).Detail, Does.Contain("'x'").And.Contain("'proto', 'y'"));
    }

    private sealed class MuteException : Exception
    {
        public override string Message => throw new NotSupportedException();
    }
}
