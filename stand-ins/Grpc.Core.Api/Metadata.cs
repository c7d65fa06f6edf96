using System.Collections;
using System.Diagnostics;
using Grpc.Core.Internal;
using Grpc.Core.Utils;

namespace Grpc.Core;

/// <summary>
/// Headers or trailers of a call, in order and with repeated keys. <see cref="Empty"/> is shared by everyone and hence
/// read-only; changing it is an InvalidOperationException.
/// </summary>
[DebuggerDisplay("{DebuggerToString(),nq}")]
[DebuggerTypeProxy(typeof(MetadataDebugView))]
public sealed partial class Metadata : IList<Metadata.Entry>
{
    public const string BinaryHeaderSuffix = "-bin";

    public static readonly Metadata Empty = new(isReadOnly: true);

    private readonly List<Entry> _entries = [];

    public Metadata()
        : this(isReadOnly: false)
    {
    }

    private Metadata(bool isReadOnly)
    {
        IsReadOnly = isReadOnly;
    }

    public int Count => _entries.Count;

    public bool IsReadOnly { get; }

    public Entry this[int index]
    {
        get => _entries[index];
        set
        {
            CheckNewEntry(value, nameof(value));
            _entries[index] = value;
        }
    }

    /// <summary>The last entry of that key, since a later one is meant to win.</summary>
    public Entry? Get(string key)
    {
        for (var i = _entries.Count - 1; i >= 0; i--)
        {
            if (_entries[i].HasKey(key))
            {
                return _entries[i];
            }
        }

        return null;
    }

    public string? GetValue(string key) => Get(key)?.Value;

    public byte[]? GetValueBytes(string key) => Get(key)?.ValueBytes;

    // Indexed access: unlike the collection's own enumerator, this one survives changes made while it runs.
    public IEnumerable<Entry> GetAll(string key)
    {
        for (var i = 0; i < _entries.Count; i++)
        {
            if (_entries[i].HasKey(key))
            {
                yield return _entries[i];
            }
        }
    }

    public void Add(string key, string value) => Add(new Entry(key, value));

    public void Add(string key, byte[] valueBytes) => Add(new Entry(key, valueBytes));

    public void Add(Entry item)
    {
        CheckNewEntry(item, nameof(item));
        _entries.Add(item);
    }

    public void Insert(int index, Entry item)
    {
        CheckNewEntry(item, nameof(item));
        _entries.Insert(index, item);
    }

    public bool Remove(Entry item)
    {
        CheckWritable();
        return _entries.Remove(item);
    }

    public void RemoveAt(int index)
    {
        CheckWritable();
        _entries.RemoveAt(index);
    }

    public void Clear()
    {
        CheckWritable();
        _entries.Clear();
    }

    public bool Contains(Entry item) => _entries.Contains(item);

    public int IndexOf(Entry item) => _entries.IndexOf(item);

    public void CopyTo(Entry[] array, int arrayIndex) => _entries.CopyTo(array, arrayIndex);

    public IEnumerator<Entry> GetEnumerator() => _entries.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private void CheckNewEntry(Entry entry, string paramName)
    {
        GrpcPreconditions.CheckNotNull(entry, paramName);
        CheckWritable();
    }

    private void CheckWritable() => GrpcPreconditions.CheckState(!IsReadOnly, "Object is read only");

    private string DebuggerToString() => IsReadOnly ? $"Count = {Count}, IsReadOnly = true" : $"Count = {Count}";
}
