using Grpc.Core;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of a client that lends payloads and keeps those of its server.</summary>
internal sealed class LoanCommands : IAsyncDisposable
{
    private const int Length = 1 << 20;

    private static readonly Method<ShmPayload, ShmPayload> s_method = new(
        MethodType.Unary, "test.Loans", "Unary", ShmPayload.Marshaller, ShmPayload.Marshaller);

    private readonly List<ShmPayload> _held = [];
    private ShmChannel? _channel;

    /// <summary>Opens a channel that allows loans.</summary>
    public async Task<string> OpenAsync(string address, string? directory)
    {
        _channel = ShmChannel.ForAddress(
            address,
            new ShmChannelOptions
            {
                Connect = { RuntimeDirectory = directory },
                MaxReceiveMessageSize = null,
                Loans = { AllowLoanedPayloads = true },
            });
        await _channel.ConnectAsync();
        return "";
    }

    /// <summary>
    /// Makes calls with rented requests of 1 MiB, filled with this value, and keeps the responses and one more rented
    /// payload.
    /// </summary>
    public async Task<string> CallAsync(int calls, byte fill)
    {
        for (int i = 0; i < calls; i++)
        {
            using ShmPayload request = _channel!.RentPayload(Length);
            request.Memory.Span.Fill(fill);
            _held.Add(await _channel.CreateCallInvoker().AsyncUnaryCall(s_method, null, default, request));
        }

        _held.Add(_channel!.RentPayload(Length));
        return "";
    }

    public async ValueTask DisposeAsync()
    {
        _held.ForEach(payload => payload.Dispose());
        await (_channel?.ShutdownAsync() ?? Task.CompletedTask);
    }
}
