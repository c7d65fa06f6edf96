using System.Diagnostics;
using Grpc.Core.Utils;

namespace Grpc.Core;

/// <summary>What is known for certain of the peer of a call: nothing, unless an identity property is named.</summary>
[DebuggerDisplay("IsPeerAuthenticated = {IsPeerAuthenticated}")]
public class AuthContext
{
    private readonly Dictionary<string, List<AuthProperty>> _properties;

    public AuthContext(string? peerIdentityPropertyName, Dictionary<string, List<AuthProperty>> properties)
    {
        PeerIdentityPropertyName = peerIdentityPropertyName;
        _properties = GrpcPreconditions.CheckNotNull(properties, nameof(properties));
    }

    public bool IsPeerAuthenticated => PeerIdentityPropertyName is not null;

    public string? PeerIdentityPropertyName { get; }

    // An identity name that has no property is the caller's error and surfaces as KeyNotFoundException.
    public IEnumerable<AuthProperty> PeerIdentity =>
        PeerIdentityPropertyName is null ? [] : _properties[PeerIdentityPropertyName];

    public IEnumerable<AuthProperty> Properties => _properties.Values.SelectMany(values => values);

    public IEnumerable<AuthProperty> FindPropertiesByName(string propertyName) =>
        _properties.TryGetValue(propertyName, out var found) ? found : [];
}
