using ProtoBuf.Grpc;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>Calls of every operation of an <see cref="INotebook"/>.</summary>
internal static class NotebookCalls
{
    public static IEnumerable<string> Operations => ["Write", "WriteLater", "Read", "Join", "Echo", "Download"];

    /// <summary>Makes a call with two notes, or one that holds both; returns the texts of the answers.</summary>
    public static async Task<string> CallAsync(
        this INotebook notebook, string operation, CallContext context, string first = "a", string second = "b")
    {
        var note = new Note { Text = first + second };
        switch (operation)
        {
            case "Write":
                return (await Timeouts.OnThread(() => notebook.Write(note, context))).Text;
            case "WriteLater":
                return (await notebook.WriteAsync(note, context)).Text;
            case "Read":
                return await AllAsync(notebook.ReadAsync(note, context));
            case "Join":
                return (await notebook.JoinAsync(NotesAsync(first, second), context)).Text;
            case "Echo":
                return await AllAsync(notebook.EchoAsync(NotesAsync(first, second), context));
            default:
                using (var reader = new StreamReader(await notebook.DownloadAsync(note, context)))
                {
                    return await reader.ReadToEndAsync();
                }
        }
    }

    /// <summary>The answer that <see cref="CallAsync"/> returns.</summary>
    public static string AnswerOf(string operation) => operation switch
    {
        "Read" => "AB,ab",
        "Echo" => "A,B",
        "Download" => "ab",
        _ => "AB",
    };

    private static async IAsyncEnumerable<Note> NotesAsync(params string[] texts)
    {
        foreach (string text in texts)
        {
            yield return new Note { Text = text };
            await Task.Yield();
        }
    }

    private static async Task<string> AllAsync(IAsyncEnumerable<Note> notes)
    {
        var texts = new List<string>();
        await foreach (Note note in notes)
        {
            texts.Add(note.Text);
        }

        return string.Join(',', texts);
    }
}
