namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Something that no peer may do, and a part of what the victim says of it.</summary>
internal sealed record Violation(string Name, Func<RawPeer, Task> ActAsync, string Complaint)
{
    public Violation(string name, Action<RawPeer> act, string complaint)
        : this(name, peer => Run(act, peer), complaint)
    {
    }

    public override string ToString() => Name;

    private static Task Run(Action<RawPeer> act, RawPeer peer)
    {
        act(peer);
        return Task.CompletedTask;
    }
}
