using System.Globalization;

namespace RpcOverShm.Testing;

/// <summary>
/// The inputs of tests that make many at random: as many as are usual, or as <c>RPCOVERSHM_FUZZ_COUNT</c> says.
/// </summary>
public static class FuzzInputs
{
    private const string CountVariable = "RPCOVERSHM_FUZZ_COUNT";

    public static int Count(int usual) =>
        int.TryParse(Environment.GetEnvironmentVariable(CountVariable), CultureInfo.InvariantCulture, out int count)
            ? count
            : usual;

    /// <summary>
    /// Their numbers. The watchdog's bound is for as many as are usual and begins anew after those: it ends no run for
    /// its length, and a long one that hangs as soon as a short one.
    /// </summary>
    public static IEnumerable<int> Numbers(int usual)
    {
        int count = Count(usual);
        for (int i = 0; i < count; i++)
        {
            if (i > 0 && i % usual == 0)
            {
                HangWatchdog.Renew();
            }

            yield return i;
        }
    }
}
