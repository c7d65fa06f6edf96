using RpcOverShm.Testing;

namespace RpcOverShm.Hosting.Tests.Support;

/// <summary>Notes of what happened, in its order. Thread-safe.</summary>
internal sealed class Diary
{
    private readonly Lock _lock = new();
    private readonly List<string> _entries = [];
    private int _last;

    public string[] Entries
    {
        get
        {
            lock (_lock)
            {
                return [.. _entries];
            }
        }
    }

    public int NextNumber() => Interlocked.Increment(ref _last);

    public void Note(string entry)
    {
        lock (_lock)
        {
            _entries.Add(entry);
        }
    }

    public Task Until(string entry) => Timeouts.Eventually(() => Entries.Contains(entry), $"the note '{entry}'");
}
