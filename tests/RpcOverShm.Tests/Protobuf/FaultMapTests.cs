using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using RpcOverShm.Protobuf;
using RpcOverShm.Tests.Servers;
using Status = Grpc.Core.Status;

namespace RpcOverShm.Tests.Protobuf;

/// <summary>Which exceptions the map converts, and what its builder refuses.</summary>
public class FaultMapTests
{
    private static readonly ShmFaults s_everything = new ShmFaultsBuilder()
        .Add<Exception, ErrorInfo>(StatusCode.Internal, exception => new ErrorInfo { Reason = exception.Message })
        .Build();

    [Test]
    public void Exception_IsSentAsTheMostDerivedTypeThatIsMapped()
    {
        ShmFaults faults = new ShmFaultsBuilder()
            .Add<Exception, ErrorInfo>(StatusCode.Internal, _ => new ErrorInfo())
            .Add<ArgumentException, ErrorInfo>(StatusCode.InvalidArgument, _ => new ErrorInfo())
            .Add<ArgumentOutOfRangeException, ErrorInfo>(StatusCode.OutOfRange, _ => new ErrorInfo())
            .Build();

        Assert.That(CodeOf(faults, new ArgumentOutOfRangeException()), Is.EqualTo(StatusCode.OutOfRange));
        Assert.That(CodeOf(faults, new ArgumentNullException()), Is.EqualTo(StatusCode.InvalidArgument));
        Assert.That(CodeOf(faults, new KeyNotFoundException()), Is.EqualTo(StatusCode.Internal));
    }

    [Test]
    public void Failure_HasTheCauseOfTheServersLog()
    {
        var thrown = new KeyNotFoundException("which");

        var failure = (RpcException)s_everything.ToFailure(thrown, new TestCallContext())!;

        Assert.That(failure.InnerException, Is.SameAs(thrown));
        Assert.That(failure.GetRpcStatus()!.Code, Is.EqualTo((int)StatusCode.Internal));
        Assert.That(failure.GetRpcStatus()!.Message, Is.EqualTo("which"));
    }

    [Test]
    public void Exception_WhoseTextCannotBeMade_IsSentAllTheSame()
    {
        var failure = (RpcException)s_everything.ToFailure(new Unspeakable(), new TestCallContext())!;

        Assert.That(failure.GetRpcStatus()!.GetDetail<ErrorInfo>()!.Reason, Is.EqualTo("message"));
    }

    [Test]
    public void StatusThatTheMethodChose_IsCoveredOnlyByAnEntryOfItsOwn()
    {
        var chosen = new RpcException(new Status(StatusCode.NotFound, "chosen"));
        ShmFaults own = new ShmFaultsBuilder()
            .Add<RpcException, ErrorInfo>(StatusCode.DataLoss, _ => new ErrorInfo())
            .Build();

        Assert.That(s_everything.ToFailure(chosen, new TestCallContext()), Is.Null);
        Assert.That(CodeOf(own, chosen), Is.EqualTo(StatusCode.DataLoss));
    }

    [Test]
    public void EndOfACallThatWasCancelled_IsCoveredOnlyByAnEntryOfItsOwn()
    {
        var cancelled = new TestCallContext(isCancelled: true);
        ShmFaults own = new ShmFaultsBuilder()
            .Add<OperationCanceledException, ErrorInfo>(StatusCode.Aborted, _ => new ErrorInfo())
            .Build();

        Assert.That(s_everything.ToFailure(new TaskCanceledException(), cancelled), Is.Null);
        Assert.That(
            ((RpcException)own.ToFailure(new TaskCanceledException(), cancelled)!).StatusCode,
            Is.EqualTo(StatusCode.Aborted));
        Assert.That(
            CodeOf(s_everything, new TaskCanceledException()), Is.EqualTo(StatusCode.Internal), "Another token's.");
    }

    [Test]
    public void FaultException_NeedsNoEntry()
    {
        ShmFaults none = new ShmFaultsBuilder().Build();

        Assert.That(
            CodeOf(none, new ShmFaultException<ErrorInfo>(StatusCode.Aborted, new ErrorInfo())),
            Is.EqualTo(StatusCode.Aborted));
        Assert.That(none.ToFailure(new InvalidOperationException(), new TestCallContext()), Is.Null);
    }

    [Test]
    public void DetailThatCannotBeMade_IsAnExceptionWithBothCauses([Values] bool isNull)
    {
        var defect = new FormatException("defect");
        ShmFaults faults = new ShmFaultsBuilder()
            .Add<KeyNotFoundException, ErrorInfo>(StatusCode.NotFound, _ => isNull ? null! : throw defect)
            .Build();
        var thrown = new KeyNotFoundException();

        Exception failure = faults.ToFailure(thrown, new TestCallContext())!;

        Assert.That(failure, Is.TypeOf<InvalidOperationException>(), "So the client gets Unknown.");
        Assert.That(((AggregateException)failure.InnerException!).InnerExceptions, Has.Member(thrown));
        Assert.That(failure.ToString(), Does.Contain(isNull ? "is null" : "defect"));
    }

    [Test]
    public void SeveralExceptionsWithOneDetail_AreToldApartByTheCode()
    {
        ShmFaults faults = new ShmFaultsBuilder()
            .Add<KeyNotFoundException, ErrorInfo>(
                StatusCode.NotFound, _ => new ErrorInfo(), (_, failure) => new KeyNotFoundException("", failure))
            .Add<FormatException, ErrorInfo>(
                StatusCode.InvalidArgument, _ => new ErrorInfo(), (_, failure) => new FormatException("", failure))
            .Build();

        Assert.That(faults.ToException(Failure(StatusCode.NotFound)), Is.TypeOf<KeyNotFoundException>());
        Assert.That(faults.ToException(Failure(StatusCode.InvalidArgument)), Is.TypeOf<FormatException>());
        Assert.That(faults.ToException(Failure(StatusCode.Aborted)), Is.TypeOf<ShmFaultException<ErrorInfo>>());
    }

    [Test]
    public void OnlyExceptionWithADetail_IsMadeForEveryCode()
    {
        ShmFaults faults = new ShmFaultsBuilder()
            .Add<KeyNotFoundException, ErrorInfo>(
                StatusCode.NotFound, _ => new ErrorInfo(), (_, failure) => new KeyNotFoundException("", failure))
            .Build();

        Assert.That(faults.ToException(Failure(StatusCode.Aborted)), Is.TypeOf<KeyNotFoundException>());
        Assert.That(faults.ToException(Failure(StatusCode.OK)), Is.Null, "A write after the end of a success.");
    }

    [Test]
    public void FactoryThatFails_LeavesTheRpcExceptionAndSaysWhy([Values] bool isNull)
    {
        ShmFaults faults = new ShmFaultsBuilder()
            .Add<KeyNotFoundException, ErrorInfo>(
                StatusCode.NotFound, _ => new ErrorInfo(), (_, _) => isNull ? null! : throw new FormatException())
            .Build();
        RpcException failure = Failure(StatusCode.NotFound);

        Assert.That(faults.ToException(failure), Is.Null);
        Assert.That(
            failure.Data[ShmFaults.FactoryFailureKey],
            isNull ? Is.TypeOf<InvalidOperationException>() : Is.TypeOf<FormatException>());
    }

    [Test]
    public void Map_IsNotChangedByItsBuilder()
    {
        ShmFaultsBuilder builder = new();
        ShmFaults before = builder.Build();
        builder.AddDetail<ErrorInfo>();

        Assert.That(before.ToException(Failure(StatusCode.NotFound)), Is.Null);
        Assert.That(builder.Build().ToException(Failure(StatusCode.NotFound)), Is.Not.Null);
    }

    [Test]
    public void Builder_RefusesWhatIsAmbiguousOrNoFailure()
    {
        ShmFaultsBuilder builder = new ShmFaultsBuilder().Add<KeyNotFoundException, ErrorInfo>(
            StatusCode.NotFound, _ => new ErrorInfo(), (_, _) => new KeyNotFoundException());

        Assert.That(
            () => builder.Add<KeyNotFoundException, Help>(StatusCode.Aborted, _ => new Help()),
            Throws.ArgumentException.With.Message.Contains("KeyNotFoundException"));
        Assert.That(
            () => builder.Add<FormatException, ErrorInfo>(
                StatusCode.NotFound, _ => new ErrorInfo(), (_, _) => new FormatException()),
            Throws.ArgumentException.With.Message.Contains("google.rpc.ErrorInfo"));
        Assert.That(
            () => builder.Add<FormatException, ErrorInfo>(StatusCode.OK, _ => new ErrorInfo()),
            Throws.InstanceOf<ArgumentOutOfRangeException>());
        Assert.That(
            () => builder.Add<FormatException, ErrorInfo>(StatusCode.Aborted, null!), Throws.ArgumentNullException);
        Assert.That(
            () => new ShmFaultException<ErrorInfo>(StatusCode.OK, new ErrorInfo()),
            Throws.InstanceOf<ArgumentOutOfRangeException>());
    }

    [Test]
    public void Builder_RefusesExceptionsWithoutWhatTheAttributeDemands()
    {
        var builder = new ShmFaultsBuilder();

        Assert.That(() => builder.Add<FormatException>(), Throws.ArgumentException.With.Message.Contains("[ShmFault]"));
        Assert.That(
            () => builder.Add<NoDetail>(), Throws.ArgumentException.With.Message.Contains("0 public properties"));
        Assert.That(() => builder.Add<NoConstructor>(), Throws.ArgumentException.With.Message.Contains("constructor"));
        Assert.That(() => builder.Add<NoMessage>(), Throws.ArgumentException.With.Message.Contains("Protobuf message"));
    }

    private static StatusCode CodeOf(ShmFaults faults, Exception exception) =>
        ((RpcException)faults.ToFailure(exception, new TestCallContext())!).StatusCode;

    private static RpcException Failure(StatusCode code)
    {
        Metadata trailers = [];
        trailers.SetRpcStatus(new Google.Rpc.Status { Details = { Any.Pack(new ErrorInfo()) } });
        return new RpcException(new Status(code, ""), trailers);
    }

    private sealed class Unspeakable() : Exception("message")
    {
        public override string ToString() => throw new FormatException();
    }

    [ShmFault(StatusCode.Aborted, typeof(ErrorInfo))]
    private sealed class NoDetail : Exception;

    [ShmFault(StatusCode.Aborted, typeof(ErrorInfo))]
    private sealed class NoConstructor : Exception
    {
        public ErrorInfo Info { get; } = new();
    }

    [ShmFault(StatusCode.Aborted, typeof(object))]
    private sealed class NoMessage : Exception;
}
