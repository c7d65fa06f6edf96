using Grpc.Core;

namespace Outside.Server;

/// <summary>Keeps notes, and tells the client of each added one before it answers.</summary>
internal sealed class NotesService : Plain.NotesService
{
    public override async Task<Receipt> Add(Note request, ServerCallContext context)
    {
        if (request.Text.Length == 0)
        {
            throw new ArgumentException("A note has a text.");
        }

        await base.Add(request, context);
        var watcher = new NoteWatcher.NoteWatcherClient(context.GetShmSession().CreateCallInvoker());
        Receipt seen = await watcher.AddedAsync(request, cancellationToken: context.CancellationToken);
        return new Receipt { Count = seen.Count };
    }
}
