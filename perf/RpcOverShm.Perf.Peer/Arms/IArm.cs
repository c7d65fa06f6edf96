using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// One mechanism of talking between two processes, both ends of it. An arm has no state of its own: the server's end
/// lives in one process, until that ends, and the client's in another.
/// </summary>
internal interface IArm
{
    /// <summary>The name in every table.</summary>
    string Name { get; }

    /// <summary>The program of both ends, in a folder beside the suite; empty for the usual one.</summary>
    string Program => "";

    /// <summary>The largest message that the mechanism carries, in bytes.</summary>
    int LargestBytes => int.MaxValue;

    /// <summary>True when no server takes part: a limit of the machine itself, measured in the client.</summary>
    bool IsLocal => false;

    /// <summary>False where the mechanism has no such form.</summary>
    bool Supports(LoadShape shape, CallerKind caller);

    /// <summary>Starts to serve all that the arm supports, any number of clients at a time.</summary>
    /// <param name="place">A path in a directory of the run, which nothing has yet.</param>
    /// <returns>What <see cref="MakeClient"/> needs to find the server.</returns>
    Task<string> ServeAsync(string place);

    /// <summary>Makes the client's end. It connects when something is opened.</summary>
    IArmClient MakeClient(string place);
}
