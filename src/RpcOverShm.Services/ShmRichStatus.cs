using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using RpcStatus = Google.Rpc.Status;
using Status = Grpc.Core.Status;

namespace RpcOverShm.Services;

/// <summary>
/// Errors with details: a <see cref="RpcStatus"/> that travels in the trailers of a failed call, over any transport and
/// between all languages of gRPC. A method throws what <see cref="ToRpcException(RpcStatus)"/> makes; its client
/// reads it with <see cref="GetRpcStatus(RpcException)"/> and <see cref="GetDetail{T}"/>. The calls have the names, and
/// do what those of the package Grpc.StatusProto do. Thread-safe as far as what they are given is.
/// </summary>
public static class ShmRichStatus
{
    /// <summary>The key of the trailer: a binary one, which holds the serialised <see cref="RpcStatus"/>.</summary>
    public const string TrailerName = "grpc-status-details-bin";

    private static readonly TypeRegistry s_standardDetails =
        TypeRegistry.FromFiles(ErrorDetailsReflection.Descriptor);

    /// <summary>Makes the exception that carries a status, with the code and the message of that status.</summary>
    /// <param name="status">The status. It is copied.</param>
    /// <returns>
    /// The exception. A code that gRPC does not have is <see cref="StatusCode.Unknown"/> in the exception's status, and
    /// as it is in the details. A status that is <see cref="StatusCode.OK"/> makes no success of a call: what a client
    /// sees then is up to the server (this product's and grpc-dotnet's: Internal for a single response).
    /// </returns>
    /// <exception cref="ArgumentNullException">There is none.</exception>
    public static RpcException ToRpcException(this RpcStatus status)
    {
        ArgumentNullException.ThrowIfNull(status);
        var code = (StatusCode)status.Code;
        return status.ToRpcException(System.Enum.IsDefined(code) ? code : StatusCode.Unknown, status.Message);
    }

    /// <summary>
    /// Makes the exception that carries a status, with another code and message than those of that status. The client
    /// gets both, as they are; nothing compares them. Clients that know nothing of details see these.
    /// </summary>
    /// <param name="status">The status. It is copied.</param>
    /// <param name="statusCode">The code of the exception's status.</param>
    /// <param name="message">The detail of the exception's status; null is an empty one.</param>
    /// <exception cref="ArgumentNullException">There is no status.</exception>
    public static RpcException ToRpcException(this RpcStatus status, StatusCode statusCode, string? message)
    {
        ArgumentNullException.ThrowIfNull(status);
        var trailers = new Metadata();
        trailers.SetRpcStatus(status);
        return new RpcException(new Status(statusCode, message ?? ""), trailers);
    }

    /// <summary>Puts a status into metadata, in the place of any that are there.</summary>
    /// <param name="metadata">The trailers, for example <see cref="ServerCallContext.ResponseTrailers"/>.</param>
    /// <param name="status">The status. It is copied.</param>
    /// <exception cref="ArgumentNullException">One of the two is null.</exception>
    /// <exception cref="InvalidOperationException">The metadata is read-only.</exception>
    public static void SetRpcStatus(this Metadata metadata, RpcStatus status)
    {
        ArgumentNullException.ThrowIfNull(metadata);
        ArgumentNullException.ThrowIfNull(status);
        while (metadata.Get(TrailerName) is { } former)
        {
            metadata.Remove(former);
        }

        metadata.Add(TrailerName, status.ToByteArray());
    }

    /// <summary>The status that a failed call carries.</summary>
    /// <param name="exception">The failure.</param>
    /// <returns>
    /// The status; null where there is none, which is so of every failure that no method of the server caused. Its code
    /// may be another one than the exception's.
    /// </returns>
    /// <exception cref="ArgumentNullException">There is no exception.</exception>
    /// <exception cref="InvalidProtocolBufferException">The trailer is there, and is no status.</exception>
    public static RpcStatus? GetRpcStatus(this RpcException exception)
    {
        ArgumentNullException.ThrowIfNull(exception);
        return exception.Trailers.GetRpcStatus();
    }

    /// <summary>The status in metadata, which is how a call that did not fail may carry one too.</summary>
    /// <param name="metadata">The trailers.</param>
    /// <param name="ignoreParseError">
    /// True: what is no status is as good as none. False, the default: it is an error.
    /// </param>
    /// <returns>The status, the last one where there are several; null where there is none.</returns>
    /// <exception cref="ArgumentNullException">There is no metadata.</exception>
    /// <exception cref="InvalidProtocolBufferException">
    /// The trailer is there, and is no status; thrown unless parse errors are ignored.
    /// </exception>
    public static RpcStatus? GetRpcStatus(this Metadata metadata, bool ignoreParseError = false)
    {
        ArgumentNullException.ThrowIfNull(metadata);
        if (metadata.Get(TrailerName) is not { } entry)
        {
            return null;
        }

        try
        {
            return RpcStatus.Parser.ParseFrom(entry.ValueBytes);
        }
        catch (InvalidProtocolBufferException) when (ignoreParseError)
        {
            return null;
        }
    }

    /// <summary>The first detail of a type.</summary>
    /// <typeparam name="T">A message type, for example <see cref="ErrorInfo"/>.</typeparam>
    /// <param name="status">The status.</param>
    /// <returns>The detail; null where there is none of the type.</returns>
    /// <exception cref="ArgumentNullException">There is no status.</exception>
    /// <exception cref="InvalidProtocolBufferException">
    /// The detail says that it is of the type, and is not.
    /// </exception>
    public static T? GetDetail<T>(this RpcStatus status)
        where T : class, IMessage<T>, new()
    {
        ArgumentNullException.ThrowIfNull(status);
        string name = new T().Descriptor.FullName;
        return status.Details.FirstOrDefault(detail => Any.GetTypeName(detail.TypeUrl) == name)?.Unpack<T>();
    }

    /// <summary>
    /// The details that are of the standard types, those of <c>google/rpc/error_details.proto</c>, in their order.
    /// Others are left out.
    /// </summary>
    /// <param name="status">The status. It is looked at while the result is enumerated.</param>
    /// <exception cref="ArgumentNullException">There is no status.</exception>
    /// <exception cref="InvalidProtocolBufferException">
    /// While enumerating: a detail says that it is of such a type, and is not.
    /// </exception>
    public static IEnumerable<IMessage> UnpackDetailMessages(this RpcStatus status) =>
        status.UnpackDetailMessages(s_standardDetails);

    /// <summary>The details that are of some types, in their order. Others are left out.</summary>
    /// <param name="status">The status. It is looked at while the result is enumerated.</param>
    /// <param name="registry">The types.</param>
    /// <exception cref="ArgumentNullException">One of the two is null.</exception>
    /// <exception cref="InvalidProtocolBufferException">
    /// While enumerating: a detail says that it is of such a type, and is not.
    /// </exception>
    public static IEnumerable<IMessage> UnpackDetailMessages(this RpcStatus status, TypeRegistry registry)
    {
        ArgumentNullException.ThrowIfNull(status);
        ArgumentNullException.ThrowIfNull(registry);
        return status.Details.Select(detail => detail.Unpack(registry)).OfType<IMessage>();
    }

    /// <summary>
    /// Makes a detail of an exception, for services whose clients may see what goes on inside.
    /// </summary>
    /// <param name="exception">The exception.</param>
    /// <param name="innerDepth">
    /// How many of the exceptions inside it are written behind it; the default is 0, and so is what is less.
    /// </param>
    /// <returns>Type and message, and the lines of the stack trace.</returns>
    /// <exception cref="ArgumentNullException">There is no exception.</exception>
    public static DebugInfo ToRpcDebugInfo(this Exception exception, int innerDepth = 0)
    {
        ArgumentNullException.ThrowIfNull(exception);
        var info = new DebugInfo { Detail = Headline(exception) };
        AddStackTrace(info, exception);
        Exception? inner = exception.InnerException;
        for (int depth = 0; depth < innerDepth && inner is not null; depth++)
        {
            info.StackEntries.Add("InnerException: " + Headline(inner));
            AddStackTrace(info, inner);
            inner = inner.InnerException;
        }

        return info;
    }

    private static string Headline(Exception exception) => $"{exception.GetType().FullName}: {exception.Message}";

    private static void AddStackTrace(DebugInfo info, Exception exception) =>
        info.StackEntries.Add(exception.StackTrace?.ReplaceLineEndings("\n").Split('\n') ?? []);
}
