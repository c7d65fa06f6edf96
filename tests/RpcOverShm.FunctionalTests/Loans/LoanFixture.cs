using System.Buffers;
using System.Runtime.InteropServices;
using RpcOverShm.Buffers;
using RpcOverShm.FunctionalTests.Codecs;
using RpcOverShm.Loans;

namespace RpcOverShm.FunctionalTests.Loans;

/// <summary>
/// The base of fixtures with loans: a server and a channel that allow them, and a service that answers a payload with a
/// rented one of the same bytes.
/// </summary>
internal abstract class LoanFixture() : RigFixture(RigKind.Shm)
{
    protected const int MiB = 1 << 20;

    protected static EchoMethods<ShmPayload> Methods { get; } = new("test.Loans", ShmPayload.Marshaller);

    protected static RigOptions Allowed { get; } = RigOptions.AnySize with
    {
        Server = static options => options.Loans.AllowLoanedPayloads = true,
    };

    /// <summary>Whether the last request of the service lay in the client's memory.</summary>
    protected bool WasRequestLent { get; private set; }

    /// <summary>Whether a payload's bytes lie in memory that both sides map.</summary>
    protected static bool IsShared(ShmPayload payload) =>
        MemoryMarshal.TryGetMemoryManager<byte, SharedPiece>(payload.Bytes.First, out _);

    protected static LoanPool PoolOf(ShmChannel channel) => channel.Connections.Current!.Loans!.Lent;

    /// <summary>Rents a payload whose file the peer has mapped, and fills it.</summary>
    protected static async Task<ShmPayload> RentAsync(ShmChannel channel, int length, byte fill = 7)
    {
        ShmPayload payload = channel.RentPayload(length);
        if (MemoryMarshal.TryGetMemoryManager(payload.Bytes.First, out LentPiece? piece))
        {
            await Timeouts.Eventually(() => piece.Place.File.State == LoanFileState.Mapped);
        }

        payload.Memory.Span.Fill(fill);
        return payload;
    }

    protected static void AssertFilled(ShmPayload payload, int length, byte fill)
    {
        Assert.That(payload.Length, Is.EqualTo(length));
        Assert.That(payload.ToArray().AsSpan().IndexOfAnyExcept(fill), Is.EqualTo(-1));
    }

    /// <summary>Starts the rig with a connected channel that allows loans.</summary>
    protected async Task<(ShmRig Rig, ShmChannel Channel)> StartLendingAsync(
        RigOptions? options = null,
        Action<ShmChannelOptions>? change = null,
        ServerServiceDefinition? service = null)
    {
        ShmRig rig = await StartShmAsync(options ?? Allowed, service ?? Build());
        ShmChannel channel = rig.OpenChannel(own =>
        {
            own.Loans.AllowLoanedPayloads = true;
            change?.Invoke(own);
        });
        await channel.ConnectAsync().Bounded();
        return (rig, channel);
    }

    /// <summary>The loans of the server, whose only other connection is not connected.</summary>
    protected static LinkLoans LoansOf(ShmRig rig) => rig.OnlyConnection.Loans!;

    /// <summary>Waits until neither side has a piece of the other one.</summary>
    protected static async Task AssertAllBackAsync(ShmRig rig, ShmChannel channel)
    {
        await Timeouts.Eventually(() => IsAllBack(PoolOf(channel)));
        await Timeouts.Eventually(() => IsAllBack(LoansOf(rig).Lent));
        Assert.That(LoansOf(rig).Borrowed.HeldBytes, Is.Zero);
    }

    // Returns may wait for a frame that never comes here.
    private static bool IsAllBack(LoanPool pool)
    {
        pool.AskForReturns();
        return pool.TakenBytes == 0;
    }

    private ServerServiceDefinition Build() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(
            Methods.Of(MethodType.Unary), (request, context) => Task.FromResult(AnswerTo(request, context)))
        .AddMethod(Methods.Of(MethodType.ClientStreaming), AnswerLastAsync)
        .AddMethod(Methods.Of(MethodType.ServerStreaming), AnswerOnceAsync)
        .AddMethod(Methods.Of(MethodType.DuplexStreaming), AnswerEachAsync)
        .Build();

    private ShmPayload AnswerTo(ShmPayload request, ServerCallContext context)
    {
        WasRequestLent = IsShared(request);
        ShmPayload response = context.RentPayload((int)request.Length);
        request.Bytes.CopyTo(response.Memory.Span);
        request.Dispose();
        return response;
    }

    private async Task<ShmPayload> AnswerLastAsync(IAsyncStreamReader<ShmPayload> requests, ServerCallContext context)
    {
        ShmPayload? last = null;
        while (await requests.MoveNext(CancellationToken.None))
        {
            last?.Dispose();
            last = requests.Current;
        }

        return AnswerTo(last!, context);
    }

    private async Task AnswerOnceAsync(
        ShmPayload request, IServerStreamWriter<ShmPayload> responses, ServerCallContext context)
    {
        using ShmPayload response = AnswerTo(request, context);
        await responses.WriteAsync(response);
    }

    private async Task AnswerEachAsync(
        IAsyncStreamReader<ShmPayload> requests, IServerStreamWriter<ShmPayload> responses, ServerCallContext context)
    {
        while (await requests.MoveNext(CancellationToken.None))
        {
            using ShmPayload response = AnswerTo(requests.Current, context);
            await responses.WriteAsync(response);
        }
    }
}
