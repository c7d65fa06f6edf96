namespace RpcOverShm.Calls;

/// <summary>
/// How the marshallers of one type take their large messages, as seen last: a guess about the next one. Any thread may
/// use it.
/// </summary>
internal sealed class TakingHabit
{
    private volatile bool _isAsArray;

    /// <summary>True when they take an array of their own, which a large message is then put together in.</summary>
    public bool IsAsArray
    {
        get => _isAsArray;
        set
        {
            // Compared first: all cores share the line.
            if (_isAsArray != value)
            {
                _isAsArray = value;
            }
        }
    }

    public static TakingHabit Of<T>() => OfType<T>.Habit;

    private static class OfType<T>
    {
        public static readonly TakingHabit Habit = new();
    }
}
