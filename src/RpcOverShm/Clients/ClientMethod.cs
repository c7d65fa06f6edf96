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
    private readonly Method<TRequest, TResponse> _method;

    private ClientMethod(Method<TRequest, TResponse> method, MarshallerSource? codec)
    {
        _method = method;
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

    /// <summary>The method of a channel.</summary>
    /// <param name="last">The one that the channel has called last, which most often is called next.</param>
    /// <param name="cache">All that it has called.</param>
    /// <param name="method">As the generated client knows it.</param>
    /// <param name="codec">The channel's; null for the generated marshallers.</param>
    public static ClientMethod<TRequest, TResponse> Get(
        ref object? last,
        ConditionalWeakTable<IMethod, object> cache,
        Method<TRequest, TResponse> method,
        MarshallerSource? codec)
    {
        if (Volatile.Read(ref last) is ClientMethod<TRequest, TResponse> one && ReferenceEquals(one._method, method))
        {
            return one;
        }

        ClientMethod<TRequest, TResponse> found = cache.TryGetValue(method, out object? known)
            ? (ClientMethod<TRequest, TResponse>)known
            : Make(cache, method, codec);
        Volatile.Write(ref last, found);
        return found;
    }

    private static ClientMethod<TRequest, TResponse> Make(
        ConditionalWeakTable<IMethod, object> cache, Method<TRequest, TResponse> method, MarshallerSource? codec) =>
        (ClientMethod<TRequest, TResponse>)cache.GetValue(
            method, _ => new ClientMethod<TRequest, TResponse>(method, codec));
}
