namespace RpcOverShm.Samples;

/// <summary>The basket of one client. Its field needs no lock: one call at a time runs on an instance.</summary>
internal sealed class Basket : IBasket
{
    private int _quantity;

    public Order Put(Order order)
    {
        _quantity += order.Quantity;
        return new Order { Article = order.Article, Quantity = _quantity };
    }
}
