using System.ServiceModel;

namespace RpcOverShm.Samples;

/// <summary>A contract whose service has an instance for each session.</summary>
[ServiceContract(Name = "rpcovershm.samples.Basket")]
public interface IBasket
{
    /// <summary>Adds to the basket of this client, and answers with all that is in it.</summary>
    [OperationContract]
    Order Put(Order order);
}
