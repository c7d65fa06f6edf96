using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;

namespace RpcOverShm.Explorer.Roles;

/// <summary>
/// Roles around the shipped rings, link and signal. Their loops are those of connections, step for step, without calls:
/// the writer's is that of FrameWriter and FrameSender, the reader's that of ConnectionReader.
/// </summary>
internal static class RecordRoles
{
    private const byte Kind = 1;
    private const long Pattern = 0x0101_0101_0101_0101;

    /// <summary>A writer of batches: each batch is one character for each record, the digit of its payload in units of
    /// eight bytes. An empty batch publishes nothing new.</summary>
    public static Action<RoleContext> Writer(params string[] batches) => context =>
    {
        var writer = new RecordWriter(context, context.Link.Writer);
        context.Ready();
        foreach (string batch in batches)
        {
            writer.WriteBatch(batch);
        }

        context.Result = writer.Written;
    };

    /// <summary>A writer whose first batches are in the ring when the search begins.</summary>
    public static Action<RoleContext> FilledWriter(string before, params string[] batches) =>
        Writer(before, batches, isGrowing: false);

    /// <summary>A writer whose first batches are in its first ring, and which then moves to the second.</summary>
    public static Action<RoleContext> GrowingWriter(string before, params string[] batches) =>
        Writer(before, batches, isGrowing: true);

    private static Action<RoleContext> Writer(string before, string[] batches, bool isGrowing) => context =>
    {
        var writer = new RecordWriter(context, context.Link.Writer);
        writer.WriteBatch(before);
        if (isGrowing)
        {
            context.Link.Writer.WantGrowth();
        }

        context.Ready();
        foreach (string batch in batches)
        {
            writer.WriteBatch(batch);
        }

        context.Result = writer.Written;
    };

    /// <summary>A reader of this many records. It ends early if the peer is gone and all records were read.</summary>
    public static Action<RoleContext> Reader(int records) => context =>
    {
        var reader = new RecordReader(context);
        context.Ready();
        reader.ReadUpTo(records);
        context.Result = reader.Read;
    };

    /// <summary>An event loop that reads this many records and sleeps on its socket.</summary>
    public static Action<RoleContext> Loop(int records) => context =>
    {
        var reader = new RecordReader(context, WakeMethods.Doorbell);
        context.Ready();
        reader.ReadUpTo(records);
        context.Result = reader.Read;
    };

    /// <summary>An event loop that writes batches after those that are in the ring, and sleeps on its socket.</summary>
    public static Action<RoleContext> LoopWriter(string before, params string[] batches) => context =>
    {
        var writer = new RecordWriter(context, context.Link.Writer, WakeMethods.Doorbell);
        writer.WriteBatch(before);
        context.Ready();
        foreach (string batch in batches)
        {
            writer.WriteBatch(batch);
        }

        context.Result = writer.Written;
    };

    /// <summary>One thread that writes a request and reads the response, this many times.</summary>
    public static Action<RoleContext> Caller(int calls, string request) => context =>
    {
        var writer = new RecordWriter(context, context.Link.Writer);
        var reader = new RecordReader(context);
        context.Ready();
        for (int call = 1; call <= calls; call++)
        {
            writer.WriteBatch(request);
            reader.ReadUpTo(call);
        }

        context.Result = reader.Read;
    };

    /// <summary>One thread that reads a request and writes the response, this many times.</summary>
    public static Action<RoleContext> Answerer(int calls, string response) => context =>
    {
        var writer = new RecordWriter(context, context.Link.Writer);
        var reader = new RecordReader(context);
        context.Ready();
        for (int call = 1; call <= calls; call++)
        {
            reader.ReadUpTo(call);
            writer.WriteBatch(response);
        }

        context.Result = reader.Read;
    };

    /// <summary>The thread of a process that watches the socket.</summary>
    public static void WatchPeer(RoleContext context)
    {
        context.Ready();
        context.AwaitPeerEnd();
        context.Link.OnPeerGone();
    }

    /// <summary>Returns the eight bytes of a record's payload.</summary>
    public static long PayloadOf(long record) => (record + 1) * Pattern;

    public static byte RecordKind => Kind;
}
