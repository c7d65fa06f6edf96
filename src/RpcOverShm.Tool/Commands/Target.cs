using Grpc.Core;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary>The server that a command calls, with what each call to it has.</summary>
internal sealed class Target : IAsyncDisposable
{
    private const string Scheme = "shm://";

    private readonly ShmChannel _channel;
    private readonly Metadata _metadata;
    private readonly TimeSpan? _deadline;
    private readonly CancellationToken _cancellationToken;

    private Target(ShmChannel channel, Metadata metadata, TimeSpan? deadline, CancellationToken cancellationToken)
    {
        _channel = channel;
        _metadata = metadata;
        _deadline = deadline;
        _cancellationToken = cancellationToken;
        Invoker = channel.CreateCallInvoker();
    }

    public string Address => _channel.Target;

    public CallInvoker Invoker { get; }

    /// <summary>
    /// Makes a channel, which connects with the first call. A name or a path alone is an address, too.
    /// </summary>
    /// <exception cref="ToolException">The address or the directory is not allowed.</exception>
    public static Target Open(
        string address,
        string? directory,
        Metadata metadata,
        TimeSpan? deadline,
        CancellationToken cancellationToken)
    {
        string full = address.Contains("://", StringComparison.Ordinal) ? address : Scheme + address;

        // The user has chosen to call this server, and memory for what it answers.
        var options = new ShmChannelOptions { MaxReceiveMessageSize = null };
        options.Connect.RuntimeDirectory = directory;
        try
        {
            return new Target(ShmChannel.ForAddress(full, options), metadata, deadline, cancellationToken);
        }
        catch (ArgumentException exception)
        {
            throw new ToolException(ExitCode.BadInput, exception.Message, exception);
        }
    }

    /// <summary>Returns the options of a call that starts now.</summary>
    public CallOptions NewOptions()
    {
        DateTime? end = _deadline is { } time ? TimeProvider.System.GetUtcNow().UtcDateTime + time : null;
        return new CallOptions(_metadata, end, _cancellationToken);
    }

    public ValueTask DisposeAsync() => _channel.DisposeAsync();
}
