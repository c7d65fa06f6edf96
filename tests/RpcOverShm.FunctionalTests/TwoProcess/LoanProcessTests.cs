using System.Runtime.InteropServices;
using RpcOverShm.Buffers;
using RpcOverShm.Loans;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Payloads of another process, which is killed while they are read.</summary>
[OneMode]
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
internal sealed class LoanProcessTests : PeerFixture
{
    private const int Length = 1 << 20;
    private const int CallsOfAPeer = 3;

    private static readonly Method<ShmPayload, ShmPayload> s_method = new(
        MethodType.Unary, "test.Loans", "Unary", ShmPayload.Marshaller, ShmPayload.Marshaller);

    private readonly List<ShmPayload> _requests = []; // of clients that are killed

    // So that a test that fails leaves nothing to the next one.
    [TearDown]
    public void DisposeRequests()
    {
        _requests.ForEach(request => request.Dispose());
        _requests.Clear();
    }

    [Test]
    public Task Payload_OfAServerThatIsKilled_StaysReadableAndLeavesNothing() =>
        AssertLeavesNothingAsync(10, KillServerAsync);

    [Test]
    [Long(
        "Two hundred processes take half a minute.",
        "LoanProcessTests.Payload_OfAServerThatIsKilled_StaysReadableAndLeavesNothing")]
    public Task Payloads_Of200ServersThatAreKilled_LeaveNothing() => AssertLeavesNothingAsync(200, KillServerAsync);

    [Test]
    public Task Payload_OfAClientThatIsKilled_StaysReadableAndLeavesNothing() => KillClientsAsync(10);

    [Test]
    [Long(
        "Two hundred processes take half a minute.",
        "LoanProcessTests.Payload_OfAClientThatIsKilled_StaysReadableAndLeavesNothing")]
    public Task Payloads_Of200ClientsThatAreKilled_LeaveNothing() => KillClientsAsync(200);

    // The first time makes what the process keeps.
    private static async Task AssertLeavesNothingAsync(int times, Func<Task> killAsync)
    {
        await killAsync();
        await Timeouts.Eventually(() => LoanQuota.ProcessBytes == 0);
        ProcessFacts before = ProcessFacts.OfSelf();
        for (int i = 0; i < times; i++)
        {
            await killAsync();
        }

        await Timeouts.Eventually(() => LoanQuota.ProcessBytes == 0);
        await ReturnsToAsync(before);
    }

    private async Task KillServerAsync()
    {
        PeerProcess peer = await StartPeerAsync();
        await peer.DoAsync($"serve-loans {Address} {Directory.Word}");
        await using ShmChannel channel = OpenChannel(static options => options.Loans.AllowLoanedPayloads = true);
        await channel.ConnectAsync().Bounded();
        (await CallAsync(channel)).Dispose();
        await Timeouts.Eventually(() => channel.Connections.Current!.Loans!.Borrowed.MappedBytes > 0);
        ShmPayload held = await CallAsync(channel);
        for (int calls = 1; calls < 20 && !IsLent(held); calls++)
        {
            held.Dispose();
            held = await CallAsync(channel); // The server may not have heard yet that its file is mapped.
        }

        using ShmPayload own = channel.RentPayload(Length);

        peer.Kill();
        await peer.Exited.Bounded();
        await Timeouts.Eventually(() => channel.State != ConnectivityState.Ready);

        Assert.That(IsLent(held));
        AssertFilled(held, 9);
        held.Dispose();
    }

    private async Task KillClientsAsync(int times)
    {
        await using var server = new ShmServer(
            Address,
            new ShmServerOptions
            {
                Listen = { RuntimeDirectory = Directory.Option },
                LoggerFactory = Log,
                MaxReceiveMessageSize = null,
                Loans = { AllowLoanedPayloads = true },
            });
        server.Services.Add(ServerServiceDefinition.CreateBuilder().AddMethod(s_method, KeepAsync).Build());
        await server.StartAsync();
        await AssertLeavesNothingAsync(times, () => KillClientAsync(server));
    }

    // The client has lent its requests, which the server holds, and holds responses of the server.
    private async Task KillClientAsync(ShmServer server)
    {
        PeerProcess peer = await StartPeerAsync();
        await peer.DoAsync($"loan-channel {Address} {Directory.Word}");
        await peer.DoAsync("loan-calls 1 3");
        LinkLoans loans = server.Running!.Connections.Single().Connection.Loans!;
        await Timeouts.Eventually(() => loans is { Lent.MappedBytes: > 0, Borrowed.MappedBytes: > 0 });
        await peer.DoAsync($"loan-calls {CallsOfAPeer} 5");
        Assert.That(loans.Lent.LentBytes, Is.GreaterThanOrEqualTo(Length), "The client holds them.");

        peer.Kill();
        await peer.Exited.Bounded();
        await Timeouts.Eventually(() => server.Running!.Connections.Count == 0);

        // On a pool thread, when no thread uses the connection any more.
        await Timeouts.Eventually(() => loans.Lent.LentBytes == 0, "the loans end with the connection");
        Assert.That(_requests, Has.Count.EqualTo(1 + CallsOfAPeer));
        Assert.That(_requests.Any(IsLent), "Those in files that the server had mapped in time.");
        AssertFilled(_requests[0], 3);
        _requests.Skip(1).ToList().ForEach(request => AssertFilled(request, 5));
        Assert.That(loans.Borrowed.HeldBytes, Is.EqualTo((long)Length * _requests.Count(IsLent)));
        _requests.ForEach(request => request.Dispose());
        _requests.Clear();
        Assert.That(loans.Borrowed.HeldBytes, Is.Zero);
    }

    private Task<ShmPayload> KeepAsync(ShmPayload request, ServerCallContext context)
    {
        _requests.Add(request);
        ShmPayload response = context.RentPayload(Length);
        response.Memory.Span.Fill(6);
        return Task.FromResult(response);
    }

    private static bool IsLent(ShmPayload payload) =>
        MemoryMarshal.TryGetMemoryManager<byte, SharedPiece>(payload.Bytes.First, out _);

    private static void AssertFilled(ShmPayload payload, byte fill)
    {
        Assert.That(payload.Length, Is.EqualTo(Length));
        Assert.That(payload.ToArray().AsSpan().IndexOfAnyExcept(fill), Is.EqualTo(-1));
    }

    private static async Task<ShmPayload> CallAsync(ShmChannel channel)
    {
        using ShmPayload request = channel.RentPayload(Length);
        request.Memory.Span.Fill(9);
        return await channel.CreateCallInvoker().AsyncUnaryCall(s_method, null, default, request)
            .ResponseAsync.Bounded();
    }
}
