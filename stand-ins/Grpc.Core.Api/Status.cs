using System.Diagnostics;

namespace Grpc.Core;

/// <summary>How a call ended. Equality is the runtime's for structs: field by field.</summary>
[DebuggerDisplay("{DebuggerToString(),nq}")]
public struct Status
{
    public static readonly Status DefaultSuccess = new(StatusCode.OK, "");
    public static readonly Status DefaultCancelled = new(StatusCode.Cancelled, "");

    public Status(StatusCode statusCode, string detail)
        : this(statusCode, detail, null)
    {
    }

    public Status(StatusCode statusCode, string detail, Exception? debugException)
    {
        StatusCode = statusCode;
        Detail = detail;
        DebugException = debugException;
    }

    public StatusCode StatusCode { get; }

    public string Detail { get; }

    public Exception? DebugException { get; }

    public override readonly string ToString()
    {
        var debug = DebugException is null ? "" : $", DebugException=\"{DebugSummary}\"";
        return $"Status(StatusCode=\"{StatusCode}\", Detail=\"{Detail}\"{debug})";
    }

    // The exception's own text has its stack trace, which would drown the status.
    private readonly string DebugSummary => $"{DebugException!.GetType()}: {DebugException.Message}";

    private readonly string DebuggerToString()
    {
        var detail = string.IsNullOrEmpty(Detail) ? "" : $", Detail = \"{Detail}\"";
        var debug = DebugException is null ? "" : $", DebugException = \"{DebugSummary}\"";
        return $"StatusCode = {StatusCode}{detail}{debug}";
    }
}
