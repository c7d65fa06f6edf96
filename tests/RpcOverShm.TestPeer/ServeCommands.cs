using System.Globalization;
using Grpc.Core;
using Grpc.Reflection;
using Grpc.Reflection.V1Alpha;
using RpcOverShm.MessagePack;
using RpcOverShm.Servers;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of a server. The start and the end of each handler are events.</summary>
internal sealed class ServeCommands : IAsyncDisposable
{
    private const string Answer = "answer ";

    private ShmServer? _server;
    private int _running; // unary methods

    /// <summary>Starts a server that takes messages of any size, in Protobuf and in MessagePack.</summary>
    public Task<string> ServeAnySizeAsync(
        string address, string? directory, string[] users, string[] groups, int? maxConnections = null)
    {
        var options = new ShmServerOptions
        {
            Listen = { RuntimeDirectory = directory, AllowedGroup = groups.SingleOrDefault() },
            MaxReceiveMessageSize = null,
            Codecs = { ShmMessagePackCodec.Instance },
            Limits = { MaxConnectionBufferSize = 128 << 20 }, // as by default, although messages have no limit
        };
        options.Listen.MaxConnections = maxConnections ?? options.Listen.MaxConnections;
        options.Listen.MaxConnectionsPerProcess = maxConnections; // the share of a user is tested, not of a process
        Array.ForEach(users, options.Listen.AllowedUsers.Add);
        return ServeAsync(address, options);
    }

    /// <summary>Starts a server with reflection.</summary>
    public Task<string> ServeReflectedAsync(string address, string? directory) => ServeAsync(
        address,
        new ShmServerOptions { Listen = { RuntimeDirectory = directory } },
        ServerReflection.BindService(new ReflectionServiceImpl(Conformance.Descriptor)));

    /// <summary>Starts a server that lends payloads, and answers each with one of the same first byte.</summary>
    public Task<string> ServeLoansAsync(string address, string? directory)
    {
        var method = new Method<ShmPayload, ShmPayload>(
            MethodType.Unary, "test.Loans", "Unary", ShmPayload.Marshaller, ShmPayload.Marshaller);
        return ServeAsync(
            address,
            new ShmServerOptions
            {
                Listen = { RuntimeDirectory = directory },
                MaxReceiveMessageSize = null,
                Loans = { AllowLoanedPayloads = true },
            },
            ServerServiceDefinition.CreateBuilder().AddMethod(method, RepeatAsync).Build());

        static Task<ShmPayload> RepeatAsync(ShmPayload request, ServerCallContext context)
        {
            ShmPayload response = context.RentPayload((int)request.Length);
            response.Memory.Span.Fill(request.Bytes.FirstSpan[0]);
            request.Dispose();
            return Task.FromResult(response);
        }
    }

    /// <summary>Starts a server with these options, and with one more service.</summary>
    public async Task<string> ServeAsync(
        string address, ShmServerOptions options, ServerServiceDefinition? further = null)
    {
        var server = new ShmServer(address, options);
        var script = new Script
        {
            Unary = UnaryAsync,
            ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                if (request.Text() == "hold")
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }
            },
        };
        server.Services.Add(script.Build());
        server.Services.Add(Conformance.BindService(new ConformanceService()));
        if (further is not null)
        {
            server.Services.Add(further);
        }

        try
        {
            await server.StartAsync();
        }
        catch
        {
            await server.DisposeAsync();
            throw;
        }

        _server = server;
        return "";
    }

    /// <summary>
    /// Returns the number of connections, of calls that wait for their turn, of unary methods that run, and of bytes
    /// that the server counts against its limits.
    /// </summary>
    public string Count()
    {
        IReadOnlyList<ServerConnection> connections = _server!.Running!.Connections;
        return string.Create(
            CultureInfo.InvariantCulture,
            $"{connections.Count} {connections.Sum(one => one.Queued)} "
            + $"{Volatile.Read(ref _running)} {_server.Running.BufferBudget.UsedBytes}");
    }

    public async Task<string> StopAsync(int graceMilliseconds)
    {
        await _server!.StopAsync(TimeSpan.FromMilliseconds(graceMilliseconds));
        return "";
    }

    public async ValueTask DisposeAsync()
    {
        if (_server is not null)
        {
            await _server.DisposeAsync();
        }
    }

    private async Task<Payload> UnaryAsync(Payload request, ServerCallContext context)
    {
        Interlocked.Increment(ref _running);
        try
        {
            return await AnswerAsync(request, context);
        }
        finally
        {
            Interlocked.Decrement(ref _running);
        }
    }

    // "hold" runs until it is cancelled, and says that it has begun; "rest" says nothing; "answer" has so large an
    // answer.
    private static async Task<Payload> AnswerAsync(Payload request, ServerCallContext context)
    {
        string text = request.Text();
        if (text.StartsWith(Answer, StringComparison.Ordinal))
        {
            return Payloads.OfSize(int.Parse(text.AsSpan(Answer.Length), CultureInfo.InvariantCulture));
        }

        if (text == "hold")
        {
            PeerCommands.Emit("holding");
        }

        if (text == "hold" || text.StartsWith("rest", StringComparison.Ordinal))
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }

        return request;
    }
}
