using Grpc.Core;
using MessagePack;
using MessagePack.Resolvers;
using Publish.Attributed;
using RpcOverShm;
using RpcOverShm.MessagePack;

// A server and a client of messages with attributes, in one process: what they do after they were published.
// snippet: codec
var codec = new ShmMessagePackCodec(MessagePackSerializerOptions.Standard.WithResolver(
    CompositeResolver.Create(GeneratedMessagePackResolver.Instance, StandardResolver.Instance)));
// end snippet
Method<Shop.Order, Account> pay = ShmMethod.Unary<Shop.Order, Account>("Shop", "Pay");
var serverOptions = new ShmServerOptions();
serverOptions.Codecs.Add(codec);
await using var server = new ShmServer("shm://attributed", serverOptions);
server.Services.Add(ServerServiceDefinition.CreateBuilder()
    .AddMethod(pay, (order, _) => Task.FromResult(
        order.Lines.Count == 2 ? (Account)order.Payment! : throw new InvalidOperationException("Lines are missing.")))
    .Build());
await server.StartAsync();
await using var channel = ShmChannel.ForAddress("shm://attributed", new ShmChannelOptions { Codec = codec });

var order = new Shop.Order
{
    Name = "tea for two",
    Lines = [new Shop.Line("tea", 2), new Shop.Line("cake", 1)],
    Payment = new Account { Number = 4711 },
};
Account account = await channel.CreateCallInvoker().AsyncUnaryCall(pay, null, default, order);
Console.WriteLine($"Paid from {account.Number}.");

// The attribute of the assembly names the resolver, so a class without collections needs no other.
Console.WriteLine(ShmMessagePackCodec.Instance.CreateMarshaller<Account>(null!) is null ? "unknown" : "known");
Console.WriteLine(Refusal<Forgotten>());
Console.WriteLine(Refusal<List<Forgotten>>());

string Refusal<T>()
    where T : class
{
    try
    {
        return $"A marshaller: {codec.CreateMarshaller<T>(null!) is not null}";
    }
    catch (NotSupportedException refused)
    {
        return refused.Message;
    }
}
