using System.Diagnostics;

namespace MessagePack;

/// <summary>Asks the package's source generator for a resolver; the stand-in has no generator.</summary>
[AttributeUsage(AttributeTargets.Class, AllowMultiple = false, Inherited = false)]
[Conditional("NEVERDEFINED")]
public class GeneratedMessagePackResolverAttribute : Attribute
{
    public bool UseMapMode { get; set; }
}
