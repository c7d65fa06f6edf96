using Grpc.Core;

namespace Outside.Client;

/// <summary>The service that the client offers: it keeps what it is told.</summary>
internal sealed class Watcher : NoteWatcher.NoteWatcherBase
{
    private readonly List<string> _seen = [];

    public IReadOnlyList<string> Seen => _seen;

    public override Task<Receipt> Added(Note request, ServerCallContext context)
    {
        _seen.Add(request.Text);
        return Task.FromResult(new Receipt { Count = _seen.Count });
    }
}
