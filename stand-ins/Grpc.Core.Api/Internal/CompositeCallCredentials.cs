using System.Collections.ObjectModel;
using Grpc.Core.Utils;

namespace Grpc.Core.Internal;

/// <summary>Several call credentials that are all applied, in the order in which they were given.</summary>
internal sealed class CompositeCallCredentials : CallCredentials
{
    private readonly ReadOnlyCollection<CallCredentials> _parts;

    internal CompositeCallCredentials(CallCredentials[] parts)
    {
        GrpcPreconditions.CheckArgument(
            parts.Length > 1,
            "Composite credentials object can only be created from 2 or more credentials.");
        // The caller keeps its array, so the composite takes a copy.
        _parts = Array.AsReadOnly(parts.AsSpan().ToArray());
    }

    public override void InternalPopulateConfiguration(CallCredentialsConfiguratorBase configurator, object? state)
    {
        configurator.SetCompositeCredentials(state, _parts);
    }
}
