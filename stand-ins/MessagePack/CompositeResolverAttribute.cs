using System.Diagnostics;

namespace MessagePack;

/// <summary>Asks the package's source generator for a resolver; the stand-in has no generator.</summary>
[AttributeUsage(AttributeTargets.Class, AllowMultiple = false, Inherited = false)]
[Conditional("NEVERDEFINED")]
#pragma warning disable CA1019 // The package does not show the types again.
public sealed class CompositeResolverAttribute : Attribute
#pragma warning restore CA1019
{
#pragma warning disable IDE0060 // Only the generator reads them.
    public CompositeResolverAttribute(params Type[] formattersAndResolvers)
    {
    }
#pragma warning restore IDE0060

    public bool IncludeLocalFormatters { get; set; }
}
