using NUnit.Framework;

namespace RpcOverShm.Testing;

/// <summary>
/// Puts a test into the category of long tests: <c>.ci/run</c> runs them, <c>dotnet test</c> without a filter does not.
/// A house test checks the reason and the short form. Long cases of a test that has short ones use the name alone.
/// </summary>
/// <param name="reason">Why the test cannot be short.</param>
/// <param name="shortForm">
/// The tests of the short set that guard the same behaviour: a fixture, or a fixture and a test (A.B).
/// </param>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method, Inherited = true)]
public sealed class LongAttribute(string reason, string shortForm) : CategoryAttribute(Name)
{
    /// <summary>The name of the category.</summary>
    public new const string Name = "Long";

    public string Reason => reason;

    public string ShortForm => shortForm;
}
