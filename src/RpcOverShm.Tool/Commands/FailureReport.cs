using Grpc.Core;
using RpcOverShm.Tool.Json;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary>The failure of a command as the user reads it: a text, or a JSON object with <c>--json</c>.</summary>
internal sealed record FailureReport(ExitCode Code, string Message)
{
    /// <summary>The name of the status with which a call ended.</summary>
    public string? Status { get; private init; }

    /// <summary>The number of that status.</summary>
    public int? StatusCode { get; private init; }

    /// <summary>The details of the status, each as JSON.</summary>
    public IReadOnlyList<string> Details { get; init; } = [];

    /// <summary>The trailers of the call, without the one that <see cref="Details"/> has.</summary>
    public IReadOnlyList<Metadata.Entry> Trailers { get; private init; } = [];

    /// <summary>Whether a text shows the trailers.</summary>
    public bool IsVerbose { get; private init; }

    /// <summary>Returns the report of an exception; null if that is a defect of the tool.</summary>
    public static FailureReport? Of(Exception exception, bool isInterrupted) => exception switch
    {
        _ when isInterrupted && exception is RpcException or CallFailedException or OperationCanceledException =>
            new FailureReport(ExitCode.Interrupted, "Interrupted."),
        ToolException own => new FailureReport(own.Code, own.Message),
        JsonInputException input => new FailureReport(ExitCode.BadInput, input.Message),
        WireFormatException answer => new FailureReport(
            ExitCode.CallFailed, $"The answer cannot be shown as JSON. {answer.Message}"),
        CallFailedException { Call: { } call } failed => Of(call) with
        {
            Details = failed.Details,
            Trailers =
            [
                .. call.Trailers.Where(entry => failed.Details.Count == 0 || entry.Key != StatusDetails.TrailerKey),
            ],
            IsVerbose = failed.IsVerbose,
        },
        RpcException call => Of(call),
        IOException or UnauthorizedAccessException when !ToolConsole.IsClosedPipe(exception) =>
            new FailureReport(ExitCode.BadInput, exception.Message),
        _ => null,
    };

    /// <summary>Writes the report to the error stream.</summary>
    public void WriteTo(ToolConsole console, bool isJson)
    {
        if (isJson)
        {
            console.Error.WriteLine(JsonText.Of(new
            {
                Error = new
                {
                    Status,
                    StatusCode,
                    Message,
                    Details = Details.Count == 0
                        ? null
                        : Details.Select(JsonText.Parse),
                    Trailers = Trailers.Count == 0
                        ? null
                        : Trailers.Select(entry => new { entry.Key, Value = CallMetadata.ValueOf(entry) }),
                    ExitCode = (int)Code,
                },
            }));
            console.Error.Flush();
            return;
        }

        // Without a connection there was no call.
        console.WriteError(Status is null || Code == ExitCode.NotConnected
            ? Message
            : $"The call failed with {Status} ({StatusCode}): {Message}");
        foreach (string detail in Details)
        {
            console.WriteNote($"detail: {detail}");
        }

        foreach (Metadata.Entry entry in IsVerbose ? Trailers : [])
        {
            console.WriteNote($"trailer: {CallMetadata.Describe(entry)}");
        }
    }

    // A call that found no connection has its reason as the exception; it never reached a server.
    private static FailureReport Of(RpcException call) =>
        new(
            call.Status.DebugException is ShmTransportException ? ExitCode.NotConnected : ExitCode.CallFailed,
            call.Status.Detail)
        {
            Status = StatusNames.Of(call.StatusCode),
            StatusCode = (int)call.StatusCode,
            Trailers = [.. call.Trailers],
        };
}
