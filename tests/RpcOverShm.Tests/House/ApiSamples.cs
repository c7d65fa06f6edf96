namespace RpcOverShm.Tests.House;

/// <summary>
/// Samples for the tests of the API rules, good and bad. They are public because the rules examine public types only.
/// </summary>
public static class ApiSamples
{
    // The violations are intentional.
#pragma warning disable CA1051, CA2211, CS0649, CA1034
    /// <summary>A type with one member of each kind.</summary>
    public abstract class Kinds<T> : IDisposable
        where T : class
    {
        public const int Limit = 7;

        public static readonly string Word = "";

        public int Mutable;

        private protected int Hidden;

        protected Kinds(string? name = null, CancellationToken token = default)
        {
            _ = (name, token, Hidden);
        }

        public event EventHandler? Rang;

        public string? Name { get; protected set; }

        public long Length { get; init; }

        internal int Secret { get; set; }

        public abstract Lazy<T?> Find(Tuple<string?> key, bool isExact = true, DayOfWeek day = DayOfWeek.Monday);

        public virtual bool TryTake(in Guid key, out T[]? taken)
        {
            Rang?.Invoke(this, EventArgs.Empty);
            taken = null;
            return key == Guid.Empty;
        }

        public void Dispose() => GC.SuppressFinalize(this);

        public override string ToString() => "";

        private protected static void Hide()
        {
        }
    }
#pragma warning restore CA1051, CA2211, CS0649, CA1034
}

/// <summary>Extensions that code with the type does not see, unless it knows their namespace too.</summary>
public static class ShmApiSampleExtensions
{
    public static bool IsSample(this Type type) => type == typeof(ApiSamples);
}
