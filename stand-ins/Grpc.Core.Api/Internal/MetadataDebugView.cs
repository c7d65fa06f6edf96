using System.Diagnostics;

namespace Grpc.Core.Internal;

/// <summary>Shows a debugger the entries themselves.</summary>
internal sealed class MetadataDebugView(Metadata metadata)
{
    [DebuggerBrowsable(DebuggerBrowsableState.RootHidden)]
    public Metadata.Entry[] Items => [.. metadata];
}
