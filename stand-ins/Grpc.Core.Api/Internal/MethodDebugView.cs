using System.Diagnostics;

namespace Grpc.Core.Internal;

/// <summary>Shows a debugger what names a method, without its marshallers.</summary>
[DebuggerDisplay("{FullName,nq}")]
internal sealed class MethodDebugView(IMethod method)
{
    public MethodType Type => method.Type;

    public string ServiceName => method.ServiceName;

    public string Name => method.Name;

    public string FullName => method.FullName;
}
