using System.Runtime.CompilerServices;
using System.Text;
using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// A method as one channel calls it: its name as bytes and its marshallers with the channel's codec. Made once for each
/// method object and kept as long as that lives; interceptors may make method objects by the call.
/// </summary>
internal sealed class ClientMethod<TRequest, TResponse> : AnsweredMethod<TResponse>
    where TRequest : class
    where TResponse : class
{
    private readonly Method<TRequest, TResponse> _method;

    private ClientMethod(Method<TRequest, TResponse> method, ClientSettings settings)
        : base(
            settings,
            method.FullName,
            settings.Codec?.Replace(method.ResponseMarshaller) ?? method.ResponseMarshaller)
    {
        _method = method;
        FullName = Encoding.UTF8.GetBytes(method.FullName);
        if (FullName.Length > ushort.MaxValue)
        {
            throw new ArgumentException(
                $"The method's name has {FullName.Length} bytes; at most {ushort.MaxValue} are allowed.");
        }

        RequestMarshaller = settings.Codec?.Replace(method.RequestMarshaller) ?? method.RequestMarshaller;
    }

    public byte[] FullName { get; }

    public Marshaller<TRequest> RequestMarshaller { get; }

    /// <summary>
    /// True when the last request was large enough to be sent while it is serialised: a guess about the next one, so
    /// that small ones need not prepare for it. Any thread may use it.
    /// </summary>
    public bool IsLarge { get; private set; }

    /// <summary>The method of a channel.</summary>
    /// <param name="last">The one that the channel has called last, which most often is called next.</param>
    /// <param name="cache">All that it has called.</param>
    /// <param name="method">As the generated client knows it.</param>
    /// <param name="settings">The channel's.</param>
    public static ClientMethod<TRequest, TResponse> Get(
        ref object? last,
        ConditionalWeakTable<IMethod, object> cache,
        Method<TRequest, TResponse> method,
        ClientSettings settings)
    {
        if (Volatile.Read(ref last) is ClientMethod<TRequest, TResponse> one && ReferenceEquals(one._method, method))
        {
            return one;
        }

        ClientMethod<TRequest, TResponse> found = cache.TryGetValue(method, out object? known)
            ? (ClientMethod<TRequest, TResponse>)known
            : Make(cache, method, settings);
        Volatile.Write(ref last, found);
        return found;
    }

    /// <summary>Notes the length of a request.</summary>
    public void NoteRequest(long bytes)
    {
        // Compared first: all cores share the line.
        bool isLarge = bytes >= PartsWriter.SmallestMessageBytes;
        if (IsLarge != isLarge)
        {
            IsLarge = isLarge;
        }
    }

    private static ClientMethod<TRequest, TResponse> Make(
        ConditionalWeakTable<IMethod, object> cache, Method<TRequest, TResponse> method, ClientSettings settings) =>
        (ClientMethod<TRequest, TResponse>)cache.GetValue(
            method, _ => new ClientMethod<TRequest, TResponse>(method, settings));
}
