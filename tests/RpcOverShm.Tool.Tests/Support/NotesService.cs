using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Grpc.Core;
using RpcOverShm.Tool.Tests.Protos;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>The service that the commands are tried on.</summary>
internal sealed class NotesService : Notes.NotesBase
{
    private long _added;

    /// <summary>Completes when a call of Wait has begun.</summary>
    public TaskCompletionSource Waiting { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>The time that each call of Add takes at least.</summary>
    public TimeSpan Pause { get; set; }

    /// <summary>Whether Add answers with the number of its calls.</summary>
    public bool CountsCalls { get; set; }

    /// <summary>The calls of Add.</summary>
    public long Added => Interlocked.Read(ref _added);

    /// <summary>The deadline of the last call of Add.</summary>
    public DateTime Deadline { get; private set; }

    public override async Task<Note> Add(Note request, ServerCallContext context)
    {
        long added = Interlocked.Increment(ref _added);
        Deadline = context.Deadline;
        if (Pause > TimeSpan.Zero)
        {
            await Task.Delay(Pause, context.CancellationToken);
        }

        await context.WriteResponseHeadersAsync(new Metadata { { "x-head", "first" } });
        context.ResponseTrailers.Add("x-tail", "last");
        Note answer = request.Clone();
        answer.Number = CountsCalls ? added : request.Number == 0 ? 7 : request.Number;
        return answer;
    }

    public override async Task List(
        ListRequest request, IServerStreamWriter<Note> responseStream, ServerCallContext context)
    {
        for (int i = 1; i <= request.Count; i++)
        {
            await responseStream.WriteAsync(new Note { Number = i, Text = $"note {i}" });
        }
    }

    public override async Task<Summary> Import(IAsyncStreamReader<Note> requestStream, ServerCallContext context)
    {
        var summary = new Summary();
        await foreach (Note note in requestStream.ReadAllAsync())
        {
            summary.Notes++;
            summary.Tags += note.Tags.Count;
        }

        summary.Metadata.AddRange(context.RequestHeaders
            .Where(entry => entry.Key.StartsWith("x-", StringComparison.Ordinal))
            .Select(entry => $"{entry.Key}={(entry.IsBinary ? Convert.ToHexString(entry.ValueBytes) : entry.Value)}"));
        return summary;
    }

    public override async Task Chat(
        IAsyncStreamReader<Note> requestStream, IServerStreamWriter<Note> responseStream, ServerCallContext context)
    {
        await foreach (Note note in requestStream.ReadAllAsync())
        {
            if (note.Text.Length == 0)
            {
                throw new RpcException(new Status(StatusCode.FailedPrecondition, "a note without text"));
            }

            await responseStream.WriteAsync(
                new Note { Text = note.Text.ToUpperInvariant(), Attachment = note.Attachment });
        }
    }

    public override async Task<Note> Fail(FailRequest request, ServerCallContext context)
    {
        var trailers = new Metadata();
        if (request.Detail == "locked")
        {
            await context.WriteResponseHeadersAsync(new Metadata { { "x-head", "failing" } });
            trailers.Add("x-why", "busy");
            trailers.Add("x-key-bin", [0, 255]);
        }

        if (request.Details.Count > 0)
        {
            trailers.Add("grpc-status-details-bin", StatusOf(request));
        }

        throw new RpcException(new Status((StatusCode)request.StatusCode, request.Detail), trailers);
    }

    public override async Task<Note> Wait(Note request, ServerCallContext context)
    {
        Waiting.TrySetResult();
        await Task.Delay(Timeout.Infinite, context.CancellationToken);
        return request;
    }

    // A google.rpc.Status: its code, its text, and its details as field 3.
    private static byte[] StatusOf(FailRequest request)
    {
        using var buffer = new MemoryStream();
        using var output = new CodedOutputStream(buffer);
        output.WriteTag(1, WireFormat.WireType.Varint);
        output.WriteInt32(request.StatusCode);
        output.WriteTag(2, WireFormat.WireType.LengthDelimited);
        output.WriteString(request.Detail);
        foreach (Any detail in request.Details)
        {
            output.WriteTag(3, WireFormat.WireType.LengthDelimited);
            output.WriteMessage(detail);
        }

        output.Flush();
        return buffer.ToArray();
    }
}
