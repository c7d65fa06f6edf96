using System.Collections;

namespace MessagePack;

/// <summary>How far a message is trusted. Immutable: each With method answers a changed copy.</summary>
public class MessagePackSecurity
{
    public static readonly MessagePackSecurity TrustedData = new();

    public static readonly MessagePackSecurity UntrustedData = new()
    {
        HashCollisionResistant = true,
        MaximumDecompressedSize = 64 * 1024 * 1024,
    };

    protected MessagePackSecurity(MessagePackSecurity copyFrom)
    {
        ArgumentNullException.ThrowIfNull(copyFrom);
        HashCollisionResistant = copyFrom.HashCollisionResistant;
        MaximumObjectGraphDepth = copyFrom.MaximumObjectGraphDepth;
        MaximumDecompressedSize = copyFrom.MaximumDecompressedSize;
    }

    private MessagePackSecurity()
    {
    }

    public bool HashCollisionResistant { get; private set; }

    public int MaximumObjectGraphDepth { get; private set; } = 500;

    public int MaximumDecompressedSize { get; private set; } = int.MaxValue;

    public MessagePackSecurity WithMaximumObjectGraphDepth(int maximumObjectGraphDepth) => With(
        MaximumObjectGraphDepth == maximumObjectGraphDepth,
        copy => copy.MaximumObjectGraphDepth = maximumObjectGraphDepth);

    public MessagePackSecurity WithHashCollisionResistant(bool hashCollisionResistant) => With(
        HashCollisionResistant == hashCollisionResistant, copy => copy.HashCollisionResistant = hashCollisionResistant);

    public MessagePackSecurity WithMaximumDecompressedSize(int maximumDecompressedSize)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(maximumDecompressedSize);
        return With(
            MaximumDecompressedSize == maximumDecompressedSize,
            copy => copy.MaximumDecompressedSize = maximumDecompressedSize);
    }

    public IEqualityComparer<T> GetEqualityComparer<T>() =>
        HashCollisionResistant ? GetHashCollisionResistantEqualityComparer<T>() : EqualityComparer<T>.Default;

    public IEqualityComparer GetEqualityComparer() =>
        HashCollisionResistant ? GetHashCollisionResistantEqualityComparer() : EqualityComparer<object>.Default;

    public void DepthStep(ref MessagePackReader reader)
    {
        if (reader.Depth >= MaximumObjectGraphDepth)
        {
            ThrowTooDeep();
        }

        reader.Depth++;
    }

    protected virtual IEqualityComparer<T> GetHashCollisionResistantEqualityComparer<T>() => SecureComparers.Get<T>();

    protected virtual IEqualityComparer GetHashCollisionResistantEqualityComparer() => SecureComparers.ForObjects;

    protected virtual MessagePackSecurity Clone() => new(this);

    private MessagePackSecurity With(bool isSame, Action<MessagePackSecurity> change)
    {
        if (isSame)
        {
            return this;
        }

        MessagePackSecurity copy = Clone();
        change(copy);
        return copy;
    }

    private void ThrowTooDeep() => throw new InsufficientExecutionStackException(
        "This msgpack sequence has an object graph that exceeds the maximum depth allowed of "
        + $"{MaximumObjectGraphDepth}.");
}
