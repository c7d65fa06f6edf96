using System.Runtime.Serialization;
using System.ServiceModel;
using ProtoBuf.Grpc;

namespace RpcOverShm.Samples;

// snippet: contract
/// <summary>A contract with WCF's attributes; the CallContext is what OperationContext.Current was there.</summary>
[ServiceContract(Name = "rpcovershm.samples.Warehouse", CallbackContract = typeof(IWarehouseCallback))]
public interface IWarehouse
{
    /// <summary>A synchronous operation. In WCF: <c>decimal Quote(string article, int quantity)</c>.</summary>
    [OperationContract]
    Price Quote(Order order);

    /// <summary>An awaited operation, which reads and writes headers and trailers and calls the client back.</summary>
    [OperationContract]
    Task<Price> BuyAsync(Order order, CallContext context = default);

    /// <summary>Answers as a stream; in WCF, an IEnumerable of a streamed binding.</summary>
    [OperationContract]
    IAsyncEnumerable<Order> ListAsync(Order atLeast, CallContext context = default);

    /// <summary>Requests as a stream; so is a Stream that is sent, because only answers may be a Stream.</summary>
    [OperationContract]
    Task<Price> DeliverAsync(IAsyncEnumerable<Order> parts, CallContext context = default);

    /// <summary>Both at once.</summary>
    [OperationContract]
    IAsyncEnumerable<Price> HaggleAsync(IAsyncEnumerable<Order> parts, CallContext context = default);

    /// <summary>Bytes, read as they arrive.</summary>
    [OperationContract]
    Task<Stream> DownloadAsync(Order order, CallContext context = default);
}

/// <summary>The contract that the client serves: the server calls it back over the same connection.</summary>
[ServiceContract(Name = "rpcovershm.samples.WarehouseCallback")]
public interface IWarehouseCallback
{
    /// <summary>Asks the client before something is sold.</summary>
    [OperationContract]
    Order Confirm(Order order);
}

/// <summary>An operation has one message, so it holds what were several parameters.</summary>
[DataContract]
public sealed class Order
{
    /// <summary>The name of the article; Protobuf has no null, so an empty string stands for none.</summary>
    [DataMember(Order = 1)]
    public string Article { get; set; } = "";

    /// <summary>The number of pieces.</summary>
    [DataMember(Order = 2)]
    public int Quantity { get; set; }
}

/// <summary>An answer.</summary>
[DataContract]
public sealed class Price
{
    /// <summary>The sum.</summary>
    [DataMember(Order = 1)]
    public decimal Total { get; set; }
}
// end snippet
