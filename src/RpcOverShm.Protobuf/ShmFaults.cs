using System.Collections.Frozen;
using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Protobuf.Faults;
using Any = Google.Protobuf.WellKnownTypes.Any;
using RpcStatus = Google.Rpc.Status;
using Status = Grpc.Core.Status;

namespace RpcOverShm.Protobuf;

/// <summary>
/// A map between exceptions and the typed details of failed calls, for <see cref="ShmFaultServerInterceptor"/> and
/// <see cref="ShmFaultClientInterceptor"/>. A <see cref="ShmFaultsBuilder"/> makes it.
/// </summary>
/// <remarks>
/// <para>
/// A mapped exception travels as <c>google.rpc.Status</c>, with its detail, in the trailer
/// <c>grpc-status-details-bin</c>: clients of any language read it. Both sides may share one map, or have maps of their
/// own.
/// </para>
/// <para>Immutable and thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmFaults
{
    /// <summary>
    /// The key in <see cref="Exception.Data"/> of a <see cref="RpcException"/> under which the client finds the
    /// exception of a factory that failed to make the typed exception.
    /// </summary>
    public const string FactoryFailureKey = "RpcOverShm.Protobuf.FactoryFailure";

    private readonly FrozenDictionary<Type, Fault> _byException;
    private readonly FrozenDictionary<string, FaultDetail> _byDetail;

    internal ShmFaults(IReadOnlyDictionary<Type, Fault> byException, IEnumerable<FaultDetail> details)
    {
        _byException = byException.ToFrozenDictionary();
        _byDetail = details.ToFrozenDictionary(detail => detail.Name, StringComparer.Ordinal);
    }

    /// <summary>
    /// Returns the exception with which a call ends whose method threw: that with the detail, or one that says why
    /// there is none. Returns null for an exception that goes on unchanged. Does not throw.
    /// </summary>
    internal Exception? ToFailure(Exception exception, ServerCallContext context)
    {
        Fault? fault = Find(exception, context);
        if (fault is null && exception is not ShmFaultException)
        {
            return null;
        }

        try
        {
            (StatusCode code, IMessage? detail) = fault is not null
                ? (fault.StatusCode, fault.ToDetail(exception))
                : (((ShmFaultException)exception).StatusCode, ((ShmFaultException)exception).DetailMessage);
            return detail is null
                ? Unmade(exception, new InvalidOperationException("The detail is null."))
                : Make(exception, code, detail);
        }
        catch (Exception failure)
        {
            return Unmade(exception, failure);
        }
    }

    /// <summary>
    /// Returns the typed exception of a failed call; null if the failure has no detail of a mapped type that can be
    /// read, or if the exception cannot be made. Does not throw.
    /// </summary>
    internal Exception? ToException(RpcException failure)
    {
        if (failure.StatusCode == StatusCode.OK
            || failure.Trailers.GetRpcStatus(ignoreParseError: true) is not { } status)
        {
            return null;
        }

        foreach (Any any in status.Details)
        {
            if (_byDetail.TryGetValue(Any.GetTypeName(any.TypeUrl), out FaultDetail? detail)
                && detail.TryParse(any.Value) is { } message)
            {
                try
                {
                    return detail.ToException(message, failure);
                }
                catch (Exception problem)
                {
                    failure.Data[FactoryFailureKey] = problem;
                    return null;
                }
            }
        }

        return null;
    }

    /// <summary>
    /// Returns the entry of the most derived type that the exception has; null if it goes on unchanged.
    /// </summary>
    private Fault? Find(Exception exception, ServerCallContext context)
    {
        Type? type = exception.GetType();
        while (type is not null && !_byException.ContainsKey(type))
        {
            type = type.BaseType;
        }

        if (type is null)
        {
            return null;
        }

        // A status that the method chose, and the end of a call that its client gave up, are no faults because of an
        // entry for all exceptions.
        bool isMeant = exception switch
        {
            RpcException => type.IsAssignableTo(typeof(RpcException)),
            OperationCanceledException when context.CancellationToken.IsCancellationRequested =>
                type.IsAssignableTo(typeof(OperationCanceledException)),
            _ => true,
        };
        return isMeant ? _byException[type] : null;
    }

    private static RpcException Make(Exception exception, StatusCode code, IMessage detail)
    {
        var status = new RpcStatus { Code = (int)code, Message = exception.Message, Details = { Any.Pack(detail) } };
        Metadata trailers = [];
        trailers.SetRpcStatus(status);

        try
        {
            // As ToRpcException of the status, but with the cause, which is not sent: it belongs in the server's log.
            return new RpcException(new Status(code, status.Message, exception), trailers);
        }
        catch (Exception)
        {
            // The text of the cause is a part of the exception's message, and its ToString threw.
            return new RpcException(new Status(code, status.Message), trailers);
        }
    }

    private static InvalidOperationException Unmade(Exception exception, Exception failure) => new(
        $"The detail of {exception.GetType()} could not be made. The inner exceptions are both causes.",
        new AggregateException(exception, failure));
}
