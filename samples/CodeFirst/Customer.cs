namespace RpcOverShm.Samples;

/// <summary>The client's side of the contract: in WCF, the callback object of an InstanceContext.</summary>
internal sealed class Customer(Action<string> show) : IWarehouseCallback
{
    public Order Confirm(Order order)
    {
        show($"asked: {order.Article} {order.Quantity}");
        return order;
    }
}
