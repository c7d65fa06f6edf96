using System.Collections.Concurrent;
using Grpc.Core;

namespace Outside.Server;

/// <summary>Keeps notes, and tells the client of each one before it answers.</summary>
internal sealed class NotesService : Notes.NotesBase
{
    private readonly ConcurrentQueue<Note> _notes = new();

    public override async Task<Receipt> Add(Note request, ServerCallContext context)
    {
        if (request.Text.Length == 0)
        {
            throw new ArgumentException("A note has a text.");
        }

        _notes.Enqueue(request);
        var watcher = new NoteWatcher.NoteWatcherClient(context.GetShmSession().CreateCallInvoker());
        Receipt seen = await watcher.AddedAsync(request, cancellationToken: context.CancellationToken);
        return new Receipt { Count = seen.Count };
    }

    public override async Task List(
        ListRequest request, IServerStreamWriter<Note> responseStream, ServerCallContext context)
    {
        foreach (Note note in _notes)
        {
            await responseStream.WriteAsync(note);
        }
    }
}
