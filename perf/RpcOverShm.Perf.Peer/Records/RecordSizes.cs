namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// The sizes by which records are ordered: what each has, about, as Protobuf. Arms of raw bytes carry just so many.
/// </summary>
internal static class RecordSizes
{
    public const int Tiny = 28;
    public const int Small = 100;
    public const int Wide = 1 << 10;
    public const int Table = 100_000;

    public static IReadOnlyList<int> All { get; } = [Tiny, Small, Wide, Table];
}
