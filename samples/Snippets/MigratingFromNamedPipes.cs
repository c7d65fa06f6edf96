using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-named-pipes.md.</summary>
internal static class MigratingFromNamedPipes
{
    public static async Task RunAsync(string address)
    {
        ILoggerFactory loggers = NullLoggerFactory.Instance;

        // snippet: listen
        var options = new ShmStreamListenerOptions
        {
            LoggerFactory = loggers,
            Listen = { MaxConnections = 10, MaxConnectionsPerProcess = 10 },
        };
        await using var listener = new ShmStreamListener(address, options);
        listener.Start();
        // end snippet
        Task serving = ServeAsync(listener);
        Expect.Equal("you said: hello", await TalkAsync(address));

        // AcceptAsync throws ObjectDisposedException when the listener is disposed.
        await listener.DisposeAsync();
        await serving;
    }

    // snippet: serve
    private static async Task ServeAsync(ShmStreamListener listener)
    {
        try
        {
            while (true)
            {
                // NamedPipeServerStream: WaitForConnectionAsync, and a new instance for each client.
                ShmStream stream = await listener.AcceptAsync();
                _ = AnswerAsync(stream);
            }
        }
        catch (ObjectDisposedException)
        {
            // The listener was disposed. Streams that were accepted go on.
        }
    }

    private static async Task AnswerAsync(ShmStream stream)
    {
        await using (stream)
        {
            using var reader = new StreamReader(stream, leaveOpen: true);
            await using var writer = new StreamWriter(stream, leaveOpen: true) { AutoFlush = true };
            while (await reader.ReadLineAsync() is { } line)
            {
                await writer.WriteLineAsync($"you said: {line}");
            }
        }
    }
    // end snippet

    private static async Task<string?> TalkAsync(string address)
    {
        // snippet: connect
        // NamedPipeClientStream: new NamedPipeClientStream(".", "name", PipeDirection.InOut) and ConnectAsync(timeout)
        var options = new ShmStreamOptions { Connect = { Timeout = TimeSpan.FromSeconds(5) } };
        await using ShmStream stream = await ShmStream.ConnectAsync(address, options);
        await using var writer = new StreamWriter(stream, leaveOpen: true) { AutoFlush = true };
        using var reader = new StreamReader(stream, leaveOpen: true);
        await writer.WriteLineAsync("hello");
        string? answer = await reader.ReadLineAsync();
        // end snippet
        return answer;
    }
}
