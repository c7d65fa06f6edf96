using System.Runtime.CompilerServices;
using System.Text;
using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// A method as one channel calls it: its name as bytes and its marshallers with the channel's codec. Made once for each
/// method object and kept as long as that lives; interceptors may make method objects by the call.
/// </summary>
internal sealed class ClientMethod<TRequest, TResponse>
    where TRequest : class
    where TResponse : class
{
    private ClientMethod(Method<TRequest, TResponse> method, MarshallerSource? codec)
    {
        FullName = Encoding.UTF8.GetBytes(method.FullName);
        if (FullName.Length > ushort.MaxValue)
        {
            throw new ArgumentException(
                $"The method's name has {FullName.Length} bytes; at most {ushort.MaxValue} are allowed.");
        }

        RequestMarshaller = codec?.Replace(method.RequestMarshaller) ?? method.RequestMarshaller;
        ResponseMarshaller = codec?.Replace(method.ResponseMarshaller) ?? method.ResponseMarshaller;
    }

    public byte[] FullName { get; }

    public Marshaller<TRequest> RequestMarshaller { get; }

    public Marshaller<TResponse> ResponseMarshaller { get; }

    public static ClientMethod<TRequest, TResponse> Get(
        ConditionalWeakTable<IMethod, object> cache, Method<TRequest, TResponse> method, MarshallerSource? codec) =>
        (ClientMethod<TRequest, TResponse>)(cache.TryGetValue(method, out object? known)
            ? known
            : cache.GetValue(method, _ => new ClientMethod<TRequest, TResponse>(method, codec)));
}
