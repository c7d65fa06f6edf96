using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using RpcOverShm.Services;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;
using RpcStatus = Google.Rpc.Status;
using Status = Grpc.Core.Status;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>Statuses in metadata, and details in statuses, without a call.</summary>
internal sealed class RichStatusReadingTests
{
    // A reason of five bytes, of which two are there.
    private static readonly ByteString s_cutShort = ByteString.CopyFrom(0x0A, 5, 65, 66);

    [Test]
    public void SetRpcStatus_InThePlaceOfOthers_LeavesOne()
    {
        var metadata = new Metadata
        {
            { ShmRichStatus.TrailerName, new byte[] { 1 } },
            { "other", "stays" },
            { ShmRichStatus.TrailerName, new byte[] { 2 } },
        };

        metadata.SetRpcStatus(new RpcStatus { Code = 5 });

        Assert.That(metadata.GetAll(ShmRichStatus.TrailerName).Count(), Is.EqualTo(1));
        Assert.That(metadata.GetRpcStatus(), Is.EqualTo(new RpcStatus { Code = 5 }));
        Assert.That(metadata.GetValue("other"), Is.EqualTo("stays"));
    }

    [Test]
    public void GetRpcStatus_OfSeveral_IsTheLast()
    {
        var metadata = new Metadata
        {
            { ShmRichStatus.TrailerName, new RpcStatus { Code = 1 }.ToByteArray() },
            { ShmRichStatus.TrailerName, new RpcStatus { Code = 2 }.ToByteArray() },
        };

        Assert.That(metadata.GetRpcStatus()!.Code, Is.EqualTo(2));
    }

    [Test]
    public void SetRpcStatus_OnReadOnlyMetadata_Throws() => Assert.That(
        () => Metadata.Empty.SetRpcStatus(new RpcStatus()), Throws.InvalidOperationException);

    [Test]
    public void ToRpcException_OfAStatusThatChangesAfter_KeepsWhatItWas()
    {
        var status = new RpcStatus { Code = 5, Message = "then" };

        RpcException exception = status.ToRpcException();
        status.Message = "now";

        Assert.That(exception.GetRpcStatus()!.Message, Is.EqualTo("then"));
        Assert.That(exception.Status, Is.EqualTo(new Status(StatusCode.NotFound, "then")));
    }

    [Test]
    public void GetDetail_OfSeveral_IsTheFirstOfItsType()
    {
        var status = new RpcStatus
        {
            Details =
            {
                Any.Pack(new Help()),
                Any.Pack(new ErrorInfo { Reason = "FIRST" }, "example.com/with/a/longer/prefix"),
                Any.Pack(new ErrorInfo { Reason = "SECOND" }),
            },
        };

        Assert.That(status.GetDetail<ErrorInfo>()!.Reason, Is.EqualTo("FIRST"));
        Assert.That(status.GetDetail<BadRequest>(), Is.Null);
    }

    [Test]
    public void GetDetail_ThatIsNotWhatItSays_Throws()
    {
        Any mangled = Any.Pack(new ErrorInfo());
        mangled.Value = s_cutShort;
        var status = new RpcStatus { Details = { mangled } };

        Assert.That(() => status.GetDetail<ErrorInfo>(), Throws.TypeOf<InvalidProtocolBufferException>());
        Assert.That(
            () => status.UnpackDetailMessages().ToList(), Throws.TypeOf<InvalidProtocolBufferException>());
    }

    [Test]
    public void UnpackDetailMessages_OfManyTypes_AreTheKnownOnesInOrder()
    {
        IMessage[] standard =
        [
            new ErrorInfo { Reason = "A" }, new RetryInfo(), new DebugInfo { Detail = "B" }, new QuotaFailure(),
            new PreconditionFailure(), new BadRequest(), new RequestInfo(), new ResourceInfo(), new Help(),
            new LocalizedMessage { Locale = "de" },
        ];
        var status = new RpcStatus
        {
            Details = { Any.Pack(Payloads.Of("ours")), new Any(), new Any { TypeUrl = "no/such.Type" } },
        };
        status.Details.Add(standard.Select(Any.Pack));

        Assert.That(status.UnpackDetailMessages(), Is.EqualTo(standard));
        Assert.That(
            status.UnpackDetailMessages(TypeRegistry.FromMessages(Payload.Descriptor)),
            Is.EqualTo(new[] { Payloads.Of("ours") }));
    }

    [TestCase(-1, 0)]
    [TestCase(0, 0)]
    [TestCase(1, 1)]
    [TestCase(9, 2)]
    public void ToRpcDebugInfo_OfAnException_HasItsTextAndTrace(int innerDepth, int inner)
    {
        Exception exception = Thrown(new InvalidOperationException(
            "outer", new FormatException("middle", new TimeoutException("inner"))));

        DebugInfo info = exception.ToRpcDebugInfo(innerDepth);

        Assert.That(info.Detail, Is.EqualTo("System.InvalidOperationException: outer"));
        Assert.That(info.StackEntries[0], Does.Contain(nameof(Thrown)).And.Not.Contain("\n"));
        Assert.That(
            info.StackEntries.Where(entry => entry.StartsWith("InnerException: ", StringComparison.Ordinal)),
            Is.EqualTo(new[]
            {
                "InnerException: System.FormatException: middle", "InnerException: System.TimeoutException: inner",
            }.Take(inner)));
    }

    [Test]
    public void Arguments_ThatAreNull_Throw()
    {
        Assert.That(() => ((RpcStatus)null!).ToRpcException(), Throws.ArgumentNullException);
        Assert.That(() => ((RpcStatus)null!).GetDetail<ErrorInfo>(), Throws.ArgumentNullException);
        Assert.That(() => ((RpcStatus)null!).UnpackDetailMessages(), Throws.ArgumentNullException);
        Assert.That(() => ((RpcException)null!).GetRpcStatus(), Throws.ArgumentNullException);
        Assert.That(() => ((Metadata)null!).GetRpcStatus(), Throws.ArgumentNullException);
        Assert.That(() => new Metadata().SetRpcStatus(null!), Throws.ArgumentNullException);
        Assert.That(() => ((Exception)null!).ToRpcDebugInfo(), Throws.ArgumentNullException);
    }

    private static Exception Thrown(Exception exception)
    {
        try
        {
            throw exception;
        }
        catch (Exception caught)
        {
            return caught;
        }
    }
}
