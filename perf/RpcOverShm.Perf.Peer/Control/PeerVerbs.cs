namespace RpcOverShm.Perf.Peer.Control;

/// <summary>What the suite can ask of a peer, and what a peer says: the first word of a line.</summary>
internal static class PeerVerbs
{
    /// <summary>Serve an arm at a place: "serve ARM PLACE". The answer says where clients find it.</summary>
    public const string Serve = "serve";

    /// <summary>Be the client of an arm's server: "connect ARM PLACE".</summary>
    public const string Connect = "connect";

    /// <summary>Load the server as its client: "run", and the order. The answer is the result.</summary>
    public const string Run = "run";

    /// <summary>
    /// Be the client of an arm's server and make so many calls, one after another: "call ARM PLACE COUNT". The answer
    /// says when each was answered.
    /// </summary>
    public const string Call = "call";

    /// <summary>Say what this process has used and served so far.</summary>
    public const string Sample = "sample";

    /// <summary>Open further connections, each with calls on it, and keep them: "widen COUNT".</summary>
    public const string Widen = "widen";

    /// <summary>Say how much memory and how many threads this process has.</summary>
    public const string Footprint = "footprint";

    /// <summary>Say what this process runs on.</summary>
    public const string Facts = "facts";

    /// <summary>The first line of a peer, before any request: it has started.</summary>
    public const string Ready = "ready";

    /// <summary>The peer did what it was asked to; the answer follows.</summary>
    public const string Ok = "ok";

    /// <summary>The peer could not; why follows.</summary>
    public const string Error = "error";
}
