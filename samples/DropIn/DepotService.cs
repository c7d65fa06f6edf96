using System.Collections.Concurrent;
using System.Globalization;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>A service written for Grpc.Core; it does not depend on the transport.</summary>
internal sealed class DepotService : Depot.DepotBase
{
    public const string LeftKey = "left";
    public const string SealKey = "seal-bin";
    public const string TimeZoneKey = "time-zone";

    private readonly ConcurrentDictionary<string, int> _stock = new(
        [new("bolt", 100), new("nut", 80), new("washer", 250)]);

    /// <summary>Bytes that mark a refusal as the depot's; sent as a binary trailer.</summary>
    public static byte[] Seal => [0x00, 0xD0, 0xFF];

    public override async Task<Parts> Take(Parts request, ServerCallContext context)
    {
        // Sends an entry of the request metadata back in the response headers.
        await context.WriteResponseHeadersAsync(
            new Metadata { { TimeZoneKey, context.RequestHeaders.GetValue(TimeZoneKey) ?? "UTC" } });
        int left = _stock.GetValueOrDefault(request.Name);
        if (left < request.Quantity)
        {
            var trailers = new Metadata
            {
                { LeftKey, left.ToString(CultureInfo.InvariantCulture) },
                { SealKey, Seal },
            };
            throw new RpcException(
                new Status(StatusCode.FailedPrecondition, $"There are only {left} of '{request.Name}'."), trailers);
        }

        return new Parts { Name = request.Name, Quantity = _stock[request.Name] = left - request.Quantity };
    }

    public override async Task<Parts> Audit(AuditRequest request, ServerCallContext context)
    {
        await Task.Delay(Timeout.Infinite, context.CancellationToken);
        return new Parts();
    }

    public override async Task List(
        ListRequest request, IServerStreamWriter<Parts> responseStream, ServerCallContext context)
    {
        do
        {
            foreach ((string name, int quantity) in _stock.OrderBy(parts => parts.Key, StringComparer.Ordinal))
            {
                context.CancellationToken.ThrowIfCancellationRequested();
                await responseStream.WriteAsync(new Parts { Name = name, Quantity = quantity });
            }
        }
        while (request.IsEndless);
    }

    public override async Task<Receipt> Deliver(IAsyncStreamReader<Parts> requestStream, ServerCallContext context)
    {
        var receipt = new Receipt();
        while (await requestStream.MoveNext(context.CancellationToken))
        {
            Parts parts = requestStream.Current;
            _stock.AddOrUpdate(parts.Name, parts.Quantity, (_, quantity) => quantity + parts.Quantity);
            receipt.Deliveries++;
            receipt.Quantity += parts.Quantity;
        }

        return receipt;
    }

    public override async Task Compare(
        IAsyncStreamReader<Parts> requestStream,
        IServerStreamWriter<Difference> responseStream,
        ServerCallContext context)
    {
        while (await requestStream.MoveNext(context.CancellationToken))
        {
            Parts counted = requestStream.Current;
            int missing = _stock.GetValueOrDefault(counted.Name) - counted.Quantity;
            await responseStream.WriteAsync(new Difference { Name = counted.Name, Missing = missing });
        }
    }
}
