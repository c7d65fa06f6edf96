using NUnit.Framework;
using RpcOverShm.Explorer.Mutations;

namespace RpcOverShm.Explorer;

/// <summary>
/// Each rule and each fence, left out of a copy of the shipped source: the search finds a schedule that shows it.
/// Compiling the copies takes a minute of processor time, so <c>.ci/run</c> has a step for them.
/// </summary>
[Explicit("Compiles a copy for each rule."), Category("Mutants")]
public class MutantTests
{
    private static IEnumerable<TestCaseData> Cases =>
        Mutants.All.Select(mutant => new TestCaseData(mutant).SetArgDisplayNames(mutant.Rule));

    [TestCaseSource(nameof(Cases))]
    public void Rule_LeftOut_IsMissed(object item)
    {
        var mutant = (Mutant)item;

        string? violation = MutantCompiler.Find(mutant, ScheduleTests.Bound);

        Assert.That(violation, Is.Not.Null.And.Not.Empty, $"'{mutant.FoundBy}' does not miss: {mutant.Rule}.");
        TestContext.Out.WriteLine($"{mutant.Rule}: {mutant.FoundBy}, stores drain {mutant.Order}\n{violation}");
    }

    [Test]
    public void Rules_OfTheList_HaveDifferentNames() =>
        Assert.That(Mutants.All.Select(mutant => mutant.Rule), Is.Unique);
}
