using NUnit.Framework.Constraints;

namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Constraints on exceptions that many tests expect.</summary>
internal static class Errors
{
    internal static EqualStringConstraint NullArgument(string parameter)
    {
        return Throws.ArgumentNullException.With.Property(nameof(ArgumentException.ParamName)).EqualTo(parameter);
    }
}
