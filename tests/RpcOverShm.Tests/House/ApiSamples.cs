namespace RpcOverShm.Tests.House;

/// <summary>
/// Samples for the tests of the API rules, good and bad. They are public because the rules examine public types only.
/// </summary>
public static class ApiSamples
{
    // The violations are intentional.
#pragma warning disable CA1051, CA2211, CS0649, CA1034
    /// <summary>A type with one field of each kind.</summary>
    public abstract class Kinds<T>
    {
        public const int Limit = 7;

        public static readonly string Word = "";

        public int Mutable;

        private protected int Hidden;
    }
#pragma warning restore CA1051, CA2211, CS0649, CA1034
}

/// <summary>Extensions that code with the type does not see, unless it knows their namespace too.</summary>
public static class ShmApiSampleExtensions
{
    public static bool IsSample(this Type type) => type == typeof(ApiSamples);
}
