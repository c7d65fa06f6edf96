using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class StatusTests
{
    private static readonly InvalidOperationException s_exception = new("broken");

    [Test]
    public void Properties_OfStatus_AreWhatItWasMadeWith()
    {
        var status = new Status(StatusCode.NotFound, "gone", s_exception);

        Assert.That(status.StatusCode, Is.EqualTo(StatusCode.NotFound));
        Assert.That(status.Detail, Is.EqualTo("gone"));
        Assert.That(status.DebugException, Is.SameAs(s_exception));
        Assert.That(new Status(StatusCode.NotFound, "gone").DebugException, Is.Null);
    }

    [Test]
    public void Defaults_OfLibrary_HaveEmptyDetail()
    {
        Assert.That(Status.DefaultSuccess, Is.EqualTo(new Status(StatusCode.OK, "")));
        Assert.That(Status.DefaultCancelled, Is.EqualTo(new Status(StatusCode.Cancelled, "")));
    }

    [Test]
    public void Default_OfTheStruct_IsOkWithoutDetail()
    {
        Assert.That(default(Status).StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(default(Status).Detail, Is.Null);
        Assert.That(default(Status), Is.Not.EqualTo(Status.DefaultSuccess));
    }

    [Test]
    public void ToString_WithoutException_HasCodeAndDetail()
    {
        Assert.That(
            new Status(StatusCode.NotFound, "gone \"away\"").ToString(),
            Is.EqualTo("Status(StatusCode=\"NotFound\", Detail=\"gone \"away\"\")"));
    }

    [Test]
    public void ToString_WithException_HasItsTypeAndMessage()
    {
        Assert.That(
            new Status(StatusCode.Internal, "bad", s_exception).ToString(),
            Is.EqualTo("Status(StatusCode=\"Internal\", Detail=\"bad\", "
                + "DebugException=\"System.InvalidOperationException: broken\")"));
    }

    [Test]
    public void ToString_UnknownCode_HasItsNumber()
    {
        Assert.That(new Status((StatusCode)99, "").ToString(), Is.EqualTo("Status(StatusCode=\"99\", Detail=\"\")"));
    }

    [Test]
    public void Equals_FieldByField_ComparesExceptionsByReference()
    {
        var status = new Status(StatusCode.Internal, "bad", s_exception);

        Assert.That(status, Is.EqualTo(new Status(StatusCode.Internal, string.Concat("b", "ad"), s_exception)));
        Assert.That(status, Is.Not.EqualTo(new Status(StatusCode.Unknown, "bad", s_exception)));
        Assert.That(status, Is.Not.EqualTo(new Status(StatusCode.Internal, "", s_exception)));
        Assert.That(status, Is.Not.EqualTo(new Status(StatusCode.Internal, "bad", new InvalidOperationException())));
    }

    [TestCase("", ExpectedResult = "StatusCode = Internal")]
    [TestCase("bad", ExpectedResult = "StatusCode = Internal, Detail = \"bad\"")]
    public string DebuggerDisplay_Detail_IsShownUnlessEmpty(string detail)
    {
        return Debugging.Display(new Status(StatusCode.Internal, detail));
    }

    [Test]
    public void DebuggerDisplay_WithException_HasItsTypeAndMessage()
    {
        Assert.That(
            Debugging.Display(new Status(StatusCode.Internal, "", s_exception)),
            Is.EqualTo("StatusCode = Internal, DebugException = \"System.InvalidOperationException: broken\""));
    }
}
