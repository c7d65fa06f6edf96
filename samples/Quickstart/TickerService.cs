using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>An ordinary gRPC service; it does not depend on the transport.</summary>
internal sealed class TickerService : Ticker.TickerBase
{
    private const string KnownName = "SHM";

    public override Task<Tick> Latest(Symbol request, ServerCallContext context) => request.Name == KnownName
        ? Task.FromResult(TickAt(0))
        : throw new RpcException(new Status(StatusCode.NotFound, $"No symbol '{request.Name}'."));

    public override async Task Watch(
        WatchRequest request, IServerStreamWriter<Tick> responseStream, ServerCallContext context)
    {
        for (long sequence = 0; request.Count == 0 || sequence < request.Count; sequence++)
        {
            context.CancellationToken.ThrowIfCancellationRequested();
            await responseStream.WriteAsync(TickAt(sequence));
            if (request.Count == 0)
            {
                await Task.Delay(TimeSpan.FromMilliseconds(5), context.CancellationToken);
            }
        }
    }

    public override async Task<Summary> Record(IAsyncStreamReader<Tick> requestStream, ServerCallContext context)
    {
        var summary = new Summary();
        double sum = 0;
        while (await requestStream.MoveNext(context.CancellationToken))
        {
            summary.Count++;
            sum += requestStream.Current.Price;
        }

        summary.Average = sum / Math.Max(1, summary.Count);
        return summary;
    }

    public override async Task Trade(
        IAsyncStreamReader<Order> requestStream, IServerStreamWriter<Fill> responseStream, ServerCallContext context)
    {
        while (await requestStream.MoveNext(context.CancellationToken))
        {
            Order order = requestStream.Current;
            await responseStream.WriteAsync(
                new Fill { Name = order.Name, Quantity = order.Quantity, Price = PriceAt(order.Quantity) });
        }
    }

    private static Tick TickAt(long sequence) =>
        new() { Name = KnownName, Sequence = sequence, Price = PriceAt(sequence) };

    private static double PriceAt(long sequence) => 100 + (sequence % 10);
}
