using NUnit.Framework;

namespace RpcOverShm.Testing;

/// <summary>
/// Marks a test of something that only Linux has. It is a category, which the runs on other systems leave out:
/// <c>tests/Wine/run</c>.
/// </summary>
/// <param name="reason">What it tests, or needs, that other systems do not have.</param>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Method, Inherited = true)]
public sealed class LinuxOnlyAttribute(string reason) : CategoryAttribute(Name)
{
    /// <summary>The name of the category.</summary>
    public new const string Name = "LinuxOnly";

    public string Reason => reason;
}
