using System.Collections.Concurrent;
using Grpc.Core;

namespace Outside.Plain;

/// <summary>Keeps notes.</summary>
internal class NotesService : Notes.NotesBase
{
    private readonly ConcurrentQueue<Note> _notes = new();

    public override Task<Receipt> Add(Note request, ServerCallContext context)
    {
        _notes.Enqueue(request);
        return Task.FromResult(new Receipt { Count = _notes.Count });
    }

    public override async Task List(
        ListRequest request, IServerStreamWriter<Note> responseStream, ServerCallContext context)
    {
        foreach (Note note in _notes)
        {
            await responseStream.WriteAsync(note);
        }
    }

    public override async Task<Receipt> Import(IAsyncStreamReader<Note> requestStream, ServerCallContext context)
    {
        await foreach (Note note in requestStream.ReadAllAsync(context.CancellationToken))
        {
            _notes.Enqueue(note);
        }

        return new Receipt { Count = _notes.Count };
    }

    public override async Task Echo(
        IAsyncStreamReader<Note> requestStream, IServerStreamWriter<Note> responseStream, ServerCallContext context)
    {
        await foreach (Note note in requestStream.ReadAllAsync(context.CancellationToken))
        {
            await responseStream.WriteAsync(note);
        }
    }
}
