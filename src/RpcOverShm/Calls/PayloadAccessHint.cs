namespace RpcOverShm.Calls;

/// <summary>
/// How the marshallers of one type take messages, but for small ones: as they did last, which is a guess about the next
/// one. Any thread may use it.
/// </summary>
/// <param name="isInChunks">
/// True when messages are kept in the arrays that they came in, none of which is to be large.
/// </param>
internal sealed class PayloadAccessHint(bool isInChunks)
{
    // With the part that has just come, an array of 64 KiB: the next power of two would be a large object.
    private const int MostToCome = 32 << 10;

    // Nobody notes anything in this one.
    private static readonly PayloadAccessHint s_encoded = new(isInChunks: false);

    private volatile bool _isAsArray;

    /// <summary>True when they take an array of their own, which a message is then put into as it comes.</summary>
    public bool IsAsArray
    {
        get => _isAsArray;
        set
        {
            // Compared first: all cores share the line.
            if (_isAsArray != value && !isInChunks)
            {
                _isAsArray = value;
            }
        }
    }

    /// <summary>True when they keep the arrays that a message came in.</summary>
    public bool IsInChunks => isInChunks;

    /// <summary>The same for bytes that hold such messages in another form, and become none of them.</summary>
    public PayloadAccessHint Encoded => isInChunks ? this : s_encoded;

    public static PayloadAccessHint Of<T>() => OfType<T>.Hint;

    /// <summary>How many of the bytes that are still to come an array is to have room for.</summary>
    public int RoomFor(int bytesToCome) => isInChunks ? Math.Min(bytesToCome, MostToCome) : bytesToCome;

    private static class OfType<T>
    {
        public static readonly PayloadAccessHint Hint = new(typeof(IPooledMessage).IsAssignableFrom(typeof(T)));
    }
}

/// <summary>
/// A message that keeps the pooled bytes it came in. Its bytes are put together in arrays that are small enough to stay
/// off the large object heap, and a server gives it back when it has sent it as a response.
/// </summary>
internal interface IPooledMessage : IDisposable;
