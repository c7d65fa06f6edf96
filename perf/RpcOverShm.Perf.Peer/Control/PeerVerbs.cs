namespace RpcOverShm.Perf.Peer.Control;

/// <summary>The orders to a peer and its answers: the first word of a line.</summary>
internal static class PeerVerbs
{
    /// <summary>Serve an arm at a place: "serve ARM PLACE". The answer says where clients find it.</summary>
    public const string Serve = "serve";

    /// <summary>Be the client of an arm's server: "connect ARM PLACE".</summary>
    public const string Connect = "connect";

    /// <summary>Load the server as its client: "run", and the order. The answer is the result.</summary>
    public const string Run = "run";

    /// <summary>
    /// Be the client of an arm's server and make calls, one after another: "call ARM PLACE COUNT". The answer has the
    /// time of each call's answer, and how many methods the process had compiled by then since it made the channel.
    /// </summary>
    public const string Call = "call";

    /// <summary>Report the resources used and messages served by this process so far.</summary>
    public const string Sample = "sample";

    /// <summary>
    /// Open further connections one after another, each with calls on it, and keep them: "widen COUNT CALLS". The
    /// answer is the time in ticks.
    /// </summary>
    public const string Widen = "widen";

    /// <summary>Keep a processor busy until the process ends: "spin".</summary>
    public const string Spin = "spin";

    /// <summary>
    /// Be the client of an arm's server and block threads of the pool in calls: "block ARM PLACE TASKS MILLISECONDS".
    /// The answer is that of <see cref="PoolLoad"/>, in ticks.
    /// </summary>
    public const string Block = "block";

    /// <summary>
    /// Publish messages to all readers of the feed: "publish", and the order. The answer is the publisher's times.
    /// </summary>
    public const string Publish = "publish";

    /// <summary>Read the server's feed by so many subscriptions, the open ones included: "subscribe COUNT".</summary>
    public const string Subscribe = "subscribe";

    /// <summary>Be told what will be published: "expect", and the order.</summary>
    public const string Expect = "expect";

    /// <summary>Wait until all readers have it. The answer is what they got.</summary>
    public const string Take = "take";

    /// <summary>Report the memory and the threads of this process.</summary>
    public const string Footprint = "footprint";

    /// <summary>Report the runtime of this process.</summary>
    public const string Facts = "facts";

    /// <summary>The first line of a peer, before any request: it has started.</summary>
    public const string Ready = "ready";

    /// <summary>The peer carried out its order; the answer follows.</summary>
    public const string Ok = "ok";

    /// <summary>The peer failed; the reason follows.</summary>
    public const string Error = "error";
}
