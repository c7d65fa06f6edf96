using System.Buffers;

namespace RpcOverShm.FunctionalTests.Inspectors;

/// <summary>Copies each message that it sees; may refuse some.</summary>
internal sealed class RecordingInspector : ShmMessageInspector
{
    private readonly List<Seen> _seen = [];

    /// <summary>Runs for each message, after it was noted. It may throw.</summary>
    public Action<Seen> Act { get; set; } = static _ => { };

    public IReadOnlyList<Seen> All
    {
        get
        {
            lock (_seen)
            {
                return [.. _seen];
            }
        }
    }

    public override void OnRequest(in ShmInspectedMessage message) => Note(message, isRequest: true);

    public override void OnResponse(in ShmInspectedMessage message) => Note(message, isRequest: false);

    private void Note(in ShmInspectedMessage message, bool isRequest)
    {
        var seen = new Seen(
            message.Method,
            isRequest,
            message.IsReceived,
            message.Index,
            message.RequestHeaders.GetValue("key"),
            string.Join(' ', message.RequestHeaders.Select(entry => entry.Key)),
            message.Payload.ToArray());
        lock (_seen)
        {
            _seen.Add(seen);
        }

        Act(seen);
    }
}

/// <summary>A message that an inspector has seen.</summary>
internal sealed record Seen(
    string Method, bool IsRequest, bool IsReceived, int Index, string? Header, string Keys, byte[] Bytes)
{
    public string Text => Payload.Parser.ParseFrom(Bytes).Text();

    public override string ToString() =>
        $"{Method.Split('/')[^1]} {(IsReceived ? "received" : "sent")} {(IsRequest ? "request" : "response")} "
        + $"{Index} {Header} {Text}";
}
