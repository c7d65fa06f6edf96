using System.Globalization;

namespace RpcOverShm.FunctionalTests.Support;

/// <summary>The runs of a test whose result is a share, such as 50 of 50: as many as RPCOVERSHM_REPEAT says.</summary>
internal static class Repetition
{
    private const string Variable = "RPCOVERSHM_REPEAT";

    /// <summary>Returns a case for each run, whose arguments are its number and the number of runs.</summary>
    public static IEnumerable<TestCaseData> Cases()
    {
        int runs = int.TryParse(
            Environment.GetEnvironmentVariable(Variable), CultureInfo.InvariantCulture, out int count) ? count : 1;
        return Enumerable.Range(1, runs).Select(run => new TestCaseData(run, runs));
    }
}
