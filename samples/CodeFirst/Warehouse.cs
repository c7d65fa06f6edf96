using System.Runtime.CompilerServices;
using System.Text;
using Grpc.Core;
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;

namespace RpcOverShm.Samples;

// snippet: service
/// <summary>The service: it implements the contract, and knows nothing of the transport but the session.</summary>
internal sealed class Warehouse : IWarehouse
{
    public const string LeftKey = "left";

    private const int Stock = 100;

    public Price Quote(Order order) => new() { Total = order.Quantity * 0.25m };

    public async Task<Price> BuyAsync(Order order, CallContext context)
    {
        // WCF: OperationContext.Current, its headers, and GetCallbackChannel<IWarehouseCallback>().
        ServerCallContext call = context.ServerCallContext!;
        string buyer = call.RequestHeaders.GetValue("buyer") ?? "nobody";
        await call.WriteResponseHeadersAsync(new Metadata { { "buyer", buyer } });
        if (order.Quantity > Stock)
        {
            // WCF: a FaultException.
            throw new RpcException(
                new Status(StatusCode.FailedPrecondition, $"There are only {Stock}."),
                new Metadata { { LeftKey, $"{Stock}" } });
        }

        CallInvoker back = call.GetShmSession().CreateCallInvoker();
        Order confirmed = back.CreateGrpcService<IWarehouseCallback>().Confirm(order);
        call.ResponseTrailers.Add(LeftKey, $"{Stock - confirmed.Quantity}");
        return Quote(confirmed);
    }
    // end snippet

    public async IAsyncEnumerable<Order> ListAsync(Order atLeast, CallContext context)
    {
        foreach (string article in (string[])["bolt", "nut", "washer"])
        {
            context.CancellationToken.ThrowIfCancellationRequested();
            yield return new Order { Article = article, Quantity = atLeast.Quantity };
            await Task.Yield();
        }
    }

    public async Task<Price> DeliverAsync(IAsyncEnumerable<Order> parts, CallContext context)
    {
        var sum = new Price();
        await foreach (Order part in parts.WithCancellation(context.CancellationToken))
        {
            sum.Total += Quote(part).Total;
        }

        return sum;
    }

    public IAsyncEnumerable<Price> HaggleAsync(IAsyncEnumerable<Order> parts, CallContext context)
    {
        return AnswerAsync(context.CancellationToken);

        async IAsyncEnumerable<Price> AnswerAsync([EnumeratorCancellation] CancellationToken cancellationToken)
        {
            await foreach (Order part in parts.WithCancellation(cancellationToken))
            {
                yield return Quote(part);
            }
        }
    }

    public Task<Stream> DownloadAsync(Order order, CallContext context)
    {
        byte[] text = Encoding.UTF8.GetBytes(string.Concat(Enumerable.Repeat(order.Article + " ", order.Quantity)));
        return Task.FromResult<Stream>(new MemoryStream(text));
    }
}
