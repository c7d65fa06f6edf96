using System.Text;
using Grpc.Core.Utils;

namespace Grpc.Core;

/// <summary>One named fact about the peer of a call. Immutable: bytes are copied on the way in and out.</summary>
public class AuthProperty
{
    private readonly byte[] _valueBytes;
    private string? _value;

    private AuthProperty(string name, byte[] valueBytes)
    {
        Name = GrpcPreconditions.CheckNotNull(name, nameof(name));
        _valueBytes = GrpcPreconditions.CheckNotNull(valueBytes, nameof(valueBytes));
    }

    public string Name { get; }

    public string Value => _value ??= Encoding.UTF8.GetString(_valueBytes);

    public byte[] ValueBytes => _valueBytes.AsSpan().ToArray();

    public static AuthProperty Create(string name, byte[] valueBytes)
    {
        GrpcPreconditions.CheckNotNull(valueBytes, nameof(valueBytes));
        return new AuthProperty(name, valueBytes.AsSpan().ToArray());
    }

    /// <summary>Keeps the array itself; Grpc.Core hands over bytes that nobody else holds.</summary>
    internal static AuthProperty CreateUnsafe(string name, byte[] valueBytes) => new(name, valueBytes);
}
