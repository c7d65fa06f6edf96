using System.Text;
using ProtoBuf.Grpc;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>A service whose operations run a delegate of the test first, then answer in upper case.</summary>
internal sealed class Notebook(Func<ServerCallContext, Task>? act = null) : INotebook, IReader
{
    public Note Ask(Note note) => Answer(note);

    public Note Write(Note note, CallContext context)
    {
        ActAsync(context).GetAwaiter().GetResult();
        return Answer(note);
    }

    public async Task<Note> WriteAsync(Note note, CallContext context)
    {
        await ActAsync(context);
        return Answer(note);
    }

    public async IAsyncEnumerable<Note> ReadAsync(Note first, CallContext context)
    {
        await ActAsync(context);
        yield return Answer(first);
        yield return first;
    }

    public async Task<Note> JoinAsync(IAsyncEnumerable<Note> notes, CallContext context)
    {
        await ActAsync(context);
        var text = new StringBuilder();
        await foreach (Note note in notes)
        {
            text.Append(note.Text);
        }

        return Answer(new Note { Text = text.ToString() });
    }

    public async IAsyncEnumerable<Note> EchoAsync(IAsyncEnumerable<Note> notes, CallContext context)
    {
        await ActAsync(context);
        await foreach (Note note in notes)
        {
            yield return Answer(note);
        }
    }

    public async Task<Stream> DownloadAsync(Note note, CallContext context)
    {
        await ActAsync(context);
        return new MemoryStream(Encoding.ASCII.GetBytes(note.Text));
    }

    private Task ActAsync(CallContext context) => act?.Invoke(context.ServerCallContext!) ?? Task.CompletedTask;

    private static Note Answer(Note note) => new() { Text = note.Text.ToUpperInvariant() };
}
