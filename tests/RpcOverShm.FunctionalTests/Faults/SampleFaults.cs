using Google.Rpc;
using RpcOverShm.Protobuf;

namespace RpcOverShm.FunctionalTests.Faults;

/// <summary>The exceptions that tests of faults throw, and their map.</summary>
internal static class SampleFaults
{
    // snippet: map
    public static ShmFaults Map { get; } = new ShmFaultsBuilder()
        .Add<OrderException, ErrorInfo>(
            StatusCode.FailedPrecondition,
            exception => new ErrorInfo { Reason = exception.Order },
            (detail, failure) => new OrderException(detail.Reason, failure.Status.Detail, failure))
        .Add<OrderMissingException, ErrorInfo>(
            StatusCode.NotFound,
            exception => new ErrorInfo { Reason = exception.Order },
            (detail, failure) => new OrderMissingException(detail.Reason, failure.Status.Detail, failure))
        .Add<QuotaException>()
        .Add<TimeZoneNotFoundException, ResourceInfo>(
            StatusCode.OutOfRange, exception => new ResourceInfo { Description = exception.Message })
        .AddDetail<RetryInfo>()
        .Build();
    // end snippet

    // snippet: interceptors
    public static ShmFaultServerInterceptor Server { get; } = new(Map);

    public static ShmFaultClientInterceptor Client { get; } = new(Map);
    // end snippet

    /// <summary>The options of a rig whose server sends faults.</summary>
    public static RigOptions Options => new() { ServerInterceptors = [Server] };
}

/// <summary>An exception with an entry, and derived ones with and without an entry of their own.</summary>
internal class OrderException(string order, string message, Exception? inner = null) : Exception(message, inner)
{
    public string Order => order;
}

internal sealed class OrderMissingException(string order, string message, Exception? inner = null)
    : OrderException(order, message, inner);

internal sealed class OrderLockedException(string order, string message) : OrderException(order, message);

/// <summary>An exception with the attribute.</summary>
// snippet: attribute
[ShmFault(StatusCode.ResourceExhausted, typeof(QuotaFailure))]
internal sealed class QuotaException : Exception
{
    public QuotaException(QuotaFailure failure, string message, Exception? innerException = null)
        : base(message, innerException) => Failure = failure;

    public QuotaFailure Failure { get; }
}
// end snippet
