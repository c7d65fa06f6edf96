namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>
/// What a process has used and served since it started, or, as a difference of two samples, in between.
/// </summary>
/// <param name="Used">What it used.</param>
/// <param name="Messages">See <see cref="ServedTally.Messages"/>.</param>
/// <param name="WrongBytes">See <see cref="ServedTally.WrongBytes"/>.</param>
internal readonly record struct PeerSample(ResourceSample Used, long Messages, long WrongBytes)
{
    public static PeerSample Take() => new(ResourceSample.Take(), ServedTally.Messages, ServedTally.WrongBytes);

    public static PeerSample Read(LineReader line) =>
        new(ResourceSample.Read(line), line.NextNumber(), line.NextNumber());

    public void Write(LineWriter line)
    {
        Used.Write(line);
        line.Add(Messages).Add(WrongBytes);
    }

    public static PeerSample operator -(PeerSample later, PeerSample earlier) => new(
        later.Used - earlier.Used, later.Messages - earlier.Messages, later.WrongBytes - earlier.WrongBytes);
}
