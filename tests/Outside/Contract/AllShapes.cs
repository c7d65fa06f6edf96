using Grpc.Core;

namespace Outside.Contract;

/// <summary>Calls of every shape to a server that has just started, and a check of each answer.</summary>
public static class AllShapes
{
    /// <summary>Makes the calls. Throws if an answer is not the right one.</summary>
    public static async Task CallAsync(Notes.NotesClient client)
    {
        Expect(1, client.Add(new Note { Text = "one" }).Count);
        Expect(2, (await client.AddAsync(new Note { Text = "two" })).Count);
        await ImportAsync(client, "three", "four");
        await EchoAsync(client, "five", new string('6', 1_000_000));

        var listed = new List<string>();
        using AsyncServerStreamingCall<Note> list = client.List(new ListRequest());
        while (await list.ResponseStream.MoveNext(default))
        {
            listed.Add(list.ResponseStream.Current.Text);
        }

        Expect("one, two, three, four", string.Join(", ", listed));
    }

    /// <summary>Throws if a value is not the expected one.</summary>
    public static void Expect<T>(T expected, T actual)
    {
        if (!Equals(expected, actual))
        {
            throw new InvalidOperationException($"The client got '{actual}' where '{expected}' is right.");
        }
    }

    private static async Task ImportAsync(Notes.NotesClient client, params string[] texts)
    {
        using AsyncClientStreamingCall<Note, Receipt> import = client.Import();
        foreach (string text in texts)
        {
            await import.RequestStream.WriteAsync(new Note { Text = text });
        }

        await import.RequestStream.CompleteAsync();
        Expect(4, (await import.ResponseAsync).Count);
    }

    private static async Task EchoAsync(Notes.NotesClient client, params string[] texts)
    {
        using AsyncDuplexStreamingCall<Note, Note> echo = client.Echo();
        foreach (string text in texts)
        {
            await echo.RequestStream.WriteAsync(new Note { Text = text });
            Expect(true, await echo.ResponseStream.MoveNext(default));
            Expect(text, echo.ResponseStream.Current.Text);
        }

        await echo.RequestStream.CompleteAsync();
        Expect(false, await echo.ResponseStream.MoveNext(default));
    }
}
