namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>An echo over a connection that carries whole messages, both ends of it.</summary>
internal sealed class LinkEcho(IMessageLink link) : ArrayEcho
{
    public override ReadOnlySpan<byte> Reply => link.Received;

    /// <summary>Answers requests for as long as the process lives, in a thread of its own.</summary>
    public static void StartServing(IMessageLink link, string name)
    {
        var answer = new EchoAnswer();
        new Thread(() =>
        {
            while (true)
            {
                link.Receive();
                Answer(link, answer);
            }
        })
        { IsBackground = true, Name = name }.Start();
    }

    /// <summary>Checks, counts and answers the request that was received last.</summary>
    public static void Answer(IMessageLink link, EchoAnswer answer)
    {
        ServedTally.CountRequest(link.Received);
        link.Send(answer.TryMake(link.Received, out Memory<byte> made) ? made.Span : link.Received);
    }

    public override void Call()
    {
        link.Send(Request);
        link.Receive();
    }
}
