using System.Globalization;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of both ends of a byte stream.</summary>
internal sealed class StreamCommands : IAsyncDisposable
{
    private const int PieceBytes = 16 << 10;

    private ShmStreamListener? _listener;
    private readonly List<ShmStream> _crowd = [];
    private ShmStream? _stream;

    private ShmStream Stream => _stream ?? throw new InvalidOperationException("There is no stream yet.");

    public Task<string> ListenAsync(string address, string? directory, string[] users, int? maxWaiting)
    {
        var options = new ShmStreamListenerOptions { Listen = { RuntimeDirectory = directory } };
        options.MaxWaitingStreams = maxWaiting ?? options.MaxWaitingStreams;
        Array.ForEach(users, options.Listen.AllowedUsers.Add);
        _listener = new ShmStreamListener(address, options);
        _listener.Start();
        return Task.FromResult("");
    }

    public async Task<string> ConnectAsync(string address, string? directory, string[] trusted)
    {
        var options = new ShmStreamOptions { Connect = { RuntimeDirectory = directory } };
        Array.ForEach(trusted, options.Connect.TrustedServerUsers.Add);
        _stream = await ShmStream.ConnectAsync(address, options);
        return "";
    }

    /// <summary>Connects several streams that send nothing; the reply is what the first read that ends says.</summary>
    public async Task<string> ConnectManyAsync(string address, string? directory, string[] trusted, int count)
    {
        var reads = new List<Task<int>>();
        for (int i = 0; i < count; i++)
        {
            await ConnectAsync(address, directory, trusted);
            _crowd.Add(Stream);
            reads.Add(Stream.ReadAsync(new byte[1]).AsTask());
        }

        Task<int> ended = await Task.WhenAny(reads);
        return ended.Exception?.InnerException is { } failure ? failure.Message : $"{await ended} bytes";
    }

    public async Task<string> AcceptAsync()
    {
        _stream = await _listener!.AcceptAsync();
        return "";
    }

    /// <summary>
    /// Starts to write this many bytes and closes the stream after the last. Further commands need not wait for it.
    /// </summary>
    public Task<string> PumpAsync(long bytes)
    {
        _ = Task.Run(async () =>
        {
            await WriteAsync(bytes);
            await Stream.DisposeAsync();
        });
        return Task.FromResult("");
    }

    public async Task<string> WriteAsync(long bytes)
    {
        var pattern = new BytePattern(0);
        byte[] piece = new byte[PieceBytes];
        for (long left = bytes; left > 0; left -= PieceBytes)
        {
            Memory<byte> part = piece.AsMemory(0, (int)Math.Min(left, PieceBytes));
            pattern.Fill(part.Span);
            await Stream.WriteAsync(part);
        }

        return "";
    }

    /// <summary>Reads this many bytes; the reply is the number of wrong ones.</summary>
    public async Task<string> ReadAsync(int bytes)
    {
        var pattern = new BytePattern(0);
        byte[] piece = new byte[PieceBytes];
        long wrong = 0;
        for (int left = bytes; left > 0;)
        {
            int read = await Stream.ReadAsync(piece.AsMemory(0, Math.Min(left, PieceBytes)));
            if (read == 0)
            {
                throw new EndOfStreamException($"{left} bytes before the expected end.");
            }

            wrong += pattern.CountWrong(piece.AsSpan(0, read));
            left -= read;
        }

        return wrong.ToString(CultureInfo.InvariantCulture);
    }

    public async ValueTask DisposeAsync()
    {
        foreach (ShmStream one in _crowd)
        {
            await one.DisposeAsync();
        }

        if (_stream is not null)
        {
            await _stream.DisposeAsync();
        }

        if (_listener is not null)
        {
            await _listener.DisposeAsync();
        }
    }
}
