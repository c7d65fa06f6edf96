// snippet: usings
using Grpc.Core;
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;
using RpcOverShm;
// end snippet
using RpcOverShm.Samples;

var seen = new List<string>();
await using var server = new ShmServer($"shm://code-first-{Environment.ProcessId}");

// snippet: instances
// WCF: [ServiceBehavior(InstanceContextMode = InstanceContextMode.PerSession)]
int instanced = 0;
server.Services.Add(
    static _ => new Basket(),
    binder => instanced = new InstanceBinder().Bind<Basket>(binder),
    new ShmServiceOptions
    {
        Lifetime = ShmServiceLifetime.PerSession,
        MaxConcurrentCallsPerInstance = 1,
        EnableOrderedDispatch = true,
    });
// end snippet

// snippet: host
// An interface is served in a line, a generated service in another.
int bound = server.Services.AddCodeFirst(new Warehouse());
server.Services.Add(Greeter.BindService(new GreeterService()));
await server.StartAsync();
// end snippet
Show($"operations served: {bound} and {instanced}");

// snippet: client
// WCF: new DuplexChannelFactory<IWarehouse>(new InstanceContext(new Customer()), binding, address)
var options = new ShmChannelOptions();
options.Callbacks.Services.AddCodeFirst(new Customer(Show));
using var channel = ShmChannel.ForAddress(server.Address, options);
IWarehouse warehouse = channel.CreateGrpcService<IWarehouse>();
// end snippet

Show($"quote: {warehouse.Quote(new Order { Article = "bolt", Quantity = 10 }).Total:F2}");

// snippet: context
// WCF: OperationContextScope with headers. The context of a client also keeps what the answer brings.
var context = new CallContext(
    new CallOptions(new Metadata { { "buyer", "ada" } }, deadline: DateTime.UtcNow.AddSeconds(30)),
    CallContextFlags.CaptureMetadata);
Price paid = await warehouse.BuyAsync(new Order { Article = "nut", Quantity = 8 }, context);
// end snippet
Metadata headers = await context.ResponseHeadersAsync();
Show($"bought: {paid.Total:F2}, buyer {headers.GetValue("buyer")}, "
    + $"left {context.ResponseTrailers().GetValue(Warehouse.LeftKey)}");

try
{
    await warehouse.BuyAsync(new Order { Article = "nut", Quantity = 1000 });
}
catch (RpcException failure)
{
    Show($"refused: {failure.StatusCode}, {failure.Status.Detail} {failure.Trailers.GetValue(Warehouse.LeftKey)}");
}

var listed = new List<string>();
await foreach (Order order in warehouse.ListAsync(new Order { Quantity = 3 }))
{
    listed.Add($"{order.Article} {order.Quantity}");
}

Show($"listed: {string.Join(", ", listed)}");
Show($"delivered: {(await warehouse.DeliverAsync(PartsAsync(1000))).Total:F2}");

var prices = new List<string>();
await foreach (Price price in warehouse.HaggleAsync(PartsAsync(3)))
{
    prices.Add($"{price.Total:F2}");
}

Show($"haggled: {string.Join(", ", prices)}");

using (var reader = new StreamReader(await warehouse.DownloadAsync(new Order { Article = "bolt", Quantity = 100_000 })))
{
    Show($"downloaded: {(await reader.ReadToEndAsync()).Length} characters");
}

using var other = ShmChannel.ForAddress(server.Address);
int[] baskets =
[
    .. new[] { channel, channel, other }.Select(
        one => one.CreateGrpcService<IBasket>().Put(new Order { Article = "nut", Quantity = 2 }).Quantity),
];
Show($"baskets: {string.Join(", ", baskets)}");

Show($"generated client: {new Greeter.GreeterClient(channel).SayHello(new HelloRequest { Name = "you" }).Message}");

string[] expected =
[
    "operations served: 6 and 1",
    "quote: 2.50",
    "asked: nut 8",
    "bought: 2.00, buyer ada, left 92",
    "refused: FailedPrecondition, There are only 100. 100",
    "listed: bolt 3, nut 3, washer 3",
    "delivered: 250.00",
    "haggled: 0.25, 0.25, 0.25",
    "downloaded: 500000 characters",
    "baskets: 2, 4, 2",
    "generated client: Hello you",
];
return seen.SequenceEqual(expected) ? 0 : 1;

void Show(string line)
{
    Console.WriteLine(line);
    seen.Add(line);
}

static async IAsyncEnumerable<Order> PartsAsync(int count)
{
    for (int i = 0; i < count; i++)
    {
        yield return new Order { Article = $"part {i}", Quantity = 1 };
        await Task.Yield();
    }
}
