using System.Collections;

namespace MessagePack;

/// <summary>Compares as always, and hashes so that nobody outside can predict it.</summary>
internal sealed class SecureComparer<T>(Func<T, int> hash) : IEqualityComparer<T>, IEqualityComparer
{
    public bool Equals(T? x, T? y) => EqualityComparer<T>.Default.Equals(x, y);

    public int GetHashCode(T obj) => obj is null ? 0 : hash(obj);

    bool IEqualityComparer.Equals(object? x, object? y) => Equals(x, y);

    int IEqualityComparer.GetHashCode(object obj) => hash((T)obj);
}
