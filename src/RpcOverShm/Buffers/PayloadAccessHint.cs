namespace RpcOverShm.Buffers;

/// <summary>
/// Predicts whether the marshallers of one type take a message as an array or as a sequence: as they took the last one
/// that was not small. Thread-safe.
/// </summary>
/// <param name="isInChunks">Whether messages keep the arrays in which they came, so none may be a large object.</param>
internal sealed class PayloadAccessHint(bool isInChunks)
{
    // With a part of 32 KiB that has just come, the array has 64 KiB. The next power of two would be a large object.
    private const int MostToCome = 32 << 10;

    // Shared and never written.
    private static readonly PayloadAccessHint s_encoded = new(isInChunks: false);

    private volatile bool _isAsArray;

    /// <summary>Whether marshallers take an array of their own; a message is then assembled in that array.</summary>
    public bool IsAsArray
    {
        get => _isAsArray;
        set
        {
            // Compared first, because all cores share the cache line.
            if (_isAsArray != value && !isInChunks)
            {
                _isAsArray = value;
            }
        }
    }

    /// <summary>Whether messages keep the arrays in which they came.</summary>
    public bool IsInChunks => isInChunks;

    /// <summary>The hint for the encoded form of such messages: decoding copies it, so it needs no own array.</summary>
    public PayloadAccessHint Encoded => isInChunks ? this : s_encoded;

    public static PayloadAccessHint Of<T>() => OfType<T>.Hint;

    /// <summary>Returns the number of outstanding bytes for which an array should have room.</summary>
    public int RoomFor(int bytesToCome) => isInChunks ? Math.Min(bytesToCome, MostToCome) : bytesToCome;

    private static class OfType<T>
    {
        public static readonly PayloadAccessHint Hint = new(typeof(IPooledMessage).IsAssignableFrom(typeof(T)));
    }
}

/// <summary>
/// A message that keeps the pooled arrays in which it came. The arrays are small enough to stay off the large object
/// heap. A server disposes the message after sending it as a response.
/// </summary>
internal interface IPooledMessage : IDisposable;
