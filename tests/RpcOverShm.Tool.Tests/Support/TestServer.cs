using Google.Protobuf.Reflection;
using Grpc.HealthCheck;
using Grpc.Reflection;
using RpcOverShm.MessagePack;
using RpcOverShm.Testing;
using FormerReflection = Grpc.Reflection.V1Alpha.ServerReflection;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>
/// A server in this process with a runtime directory of its own: the notes, health, and a reflection. Dispose stops it.
/// </summary>
internal sealed class TestServer : IAsyncDisposable
{
    public const string Name = "notes/one";

    private readonly TestDirectory _directory = new();
    private readonly LogGuard _log = new();
    private readonly ShmServer _server;
    private int _startedSessions;

    private TestServer(Action<ShmServiceCollection, TestServer> add)
    {
        var options = new ShmServerOptions { LoggerFactory = _log, Codecs = { ShmMessagePackCodec.Instance } };
        options.Listen.RuntimeDirectory = Directory;
        _server = new ShmServer("shm://" + Name, options);
        _server.SessionStarted += (_, _) => Interlocked.Increment(ref _startedSessions);
        add(_server.Services, this);
    }

    public NotesService Notes { get; } = new();

    public HealthServiceImpl Health { get; } = new();

    /// <summary>The sessions that have started.</summary>
    public int StartedSessions => Volatile.Read(ref _startedSessions);

    public string Directory => _directory.Path;

    public string SocketPath => Path.Combine(Directory, Name.Replace('/', '+') + ".sock");

    /// <summary>Starts a server with notes, health and the reflection of Grpc.Reflection.</summary>
    public static Task<TestServer> StartAsync() => StartWithAsync((services, server) =>
    {
        services.Add(Protos.Notes.BindService(server.Notes));
        services.Add(Grpc.Health.V1.Health.BindService(server.Health));
        services.Add(FormerReflection.BindService(new ReflectionServiceImpl(
            [Protos.Notes.Descriptor, Grpc.Health.V1.Health.Descriptor])));
    });

    /// <summary>Starts a server with notes and a reflection that gives one file at a time.</summary>
    public static Task<TestServer> StartSparseAsync(params FileDescriptor[] files) =>
        StartSparseAsync(new SparseReflection(files));

    /// <summary>Starts a server with notes and this reflection.</summary>
    public static Task<TestServer> StartSparseAsync(SparseReflection reflection) =>
        StartWithAsync((services, server) =>
        {
            services.Add(Protos.Notes.BindService(server.Notes));
            services.Add(Grpc.Reflection.V1.ServerReflection.BindService(reflection));
        });

    /// <summary>Starts a server with notes alone.</summary>
    public static Task<TestServer> StartPlainAsync() =>
        StartWithAsync((services, server) => services.Add(Protos.Notes.BindService(server.Notes)));

    /// <summary>Runs a command line against this server's directory.</summary>
    public Task<ToolRun> RunAsync(params string[] arguments) => RunAsync(TextReader.Null, arguments);

    /// <summary>Runs a command line with an input.</summary>
    public Task<ToolRun> RunAsync(TextReader input, params string[] arguments) =>
        ToolRun.RunAsync(input, [.. arguments, "--runtime-directory", Directory]);

    /// <summary>Stops the server at once, as if it had to go in the middle of calls.</summary>
    public async Task StopAsync() => await _server.StopAsync(TimeSpan.Zero).Bounded();

    public async ValueTask DisposeAsync()
    {
        await _server.DisposeAsync();
        _directory.Dispose();
        _log.Check();
    }

    private static async Task<TestServer> StartWithAsync(Action<ShmServiceCollection, TestServer> add)
    {
        var server = new TestServer(add);
        await server._server.StartAsync();
        return server;
    }
}
