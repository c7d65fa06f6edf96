using Grpc.Core;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Reflection;

namespace RpcOverShm.Tool.Commands;

/// <summary>The server that a command calls, with what each call to it has.</summary>
internal sealed class Target : IAsyncDisposable
{
    private const string Scheme = "shm://";

    // Nobody waits longer for a server to describe itself, all questions together.
    private static readonly TimeSpan s_usualReflection = TimeSpan.FromSeconds(30);

    private readonly ShmChannel _channel;
    private readonly ShmChannel _reflectionChannel;
    private readonly Metadata _metadata;
    private readonly TimeSpan? _deadline;
    private readonly CancellationToken _cancellationToken;

    private Target(
        ShmChannel channel,
        ShmChannel reflectionChannel,
        Metadata metadata,
        TimeSpan? deadline,
        CancellationToken cancellationToken)
    {
        _channel = channel;
        _reflectionChannel = reflectionChannel;
        _metadata = metadata;
        _deadline = deadline;
        _cancellationToken = cancellationToken;
        Invoker = channel.CreateCallInvoker();
        Reflection = new ReflectionClient(
            reflectionChannel.CreateCallInvoker(),
            () => new CallOptions(metadata, cancellationToken: cancellationToken),
            deadline ?? s_usualReflection,
            channel.Target);
    }

    public string Address => _channel.Target;

    public CallInvoker Invoker { get; }

    /// <summary>The server's description of itself, over a connection of its own, with the usual limits.</summary>
    public ReflectionClient Reflection { get; }

    /// <summary>
    /// Makes channels, which connect with their first call. A name or a path alone is an address, too.
    /// </summary>
    /// <exception cref="ToolException">The address or the directory is not allowed.</exception>
    public static Target Open(
        string address,
        string? directory,
        Metadata metadata,
        TimeSpan? deadline,
        CancellationToken cancellationToken)
    {
        string full = FullAddress(address);

        // The user has chosen to call this server, and memory for what it answers.
        var options = new ShmChannelOptions { MaxReceiveMessageSize = null };
        var reflectionOptions = new ShmChannelOptions();
        options.Connect.RuntimeDirectory = directory;
        reflectionOptions.Connect.RuntimeDirectory = directory;
        try
        {
            return new Target(
                ShmChannel.ForAddress(full, options),
                ShmChannel.ForAddress(full, reflectionOptions),
                metadata,
                deadline,
                cancellationToken);
        }
        catch (ArgumentException exception)
        {
            throw new ToolException(ExitCode.BadInput, exception.Message, exception);
        }
    }

    /// <summary>Returns an address with its scheme.</summary>
    public static string FullAddress(string address) =>
        address.Contains("://", StringComparison.Ordinal) ? address : Scheme + address;

    /// <summary>Returns the options of a call that starts now.</summary>
    public CallOptions NewOptions()
    {
        DateTime? end = _deadline is { } time ? TimeProvider.System.GetUtcNow().UtcDateTime + time : null;
        return new CallOptions(_metadata, end, _cancellationToken);
    }

    public async ValueTask DisposeAsync()
    {
        await _reflectionChannel.DisposeAsync().ConfigureAwait(false);
        await _channel.DisposeAsync().ConfigureAwait(false);
    }
}
