using RpcOverShm.Explorer.Model;
using RpcOverShm.Links;
using RpcOverShm.Streams;

namespace RpcOverShm.Explorer.Roles;

/// <summary>Roles that call the blocking members of the shipped byte stream, whose loops are shipped too.</summary>
internal static class StreamRoles
{
    /// <summary>
    /// A writer that has written some bytes when the search begins, writes more, and then ends its bytes.
    /// </summary>
    public static Action<RoleContext> Writer(int before, params int[] sizes) => context =>
    {
        context.Track(context.Link.Writer);
        ByteSender sender = context.Track(new ByteSender(context.Link, NoLoop));
        sender.Write(Pattern(0, before));
        context.Ready();
        int offset = before;
        try
        {
            foreach (int size in sizes)
            {
                sender.Write(Pattern(offset, size));
                offset += size;
                context.Checkpoint(offset);
            }

            sender.End();
            context.Result = offset;
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            RoleContext.Require(context.HasEvents, "The stream broke.");
        }
    };

    /// <summary>A reader to the end, with a buffer of this size. Its result is the number of bytes read.</summary>
    public static Action<RoleContext> Reader(int bufferBytes) => context =>
    {
        context.Track(context.Link.Reader);
        ByteReceiver receiver = context.Track(new ByteReceiver(context.Link, NoLoop));
        context.Ready();
        byte[] buffer = new byte[bufferBytes];
        int offset = 0;
        try
        {
            while (receiver.Read(buffer) is var count and > 0)
            {
                RoleContext.Require(
                    buffer.AsSpan(0, count).SequenceEqual(Pattern(offset, count)),
                    $"Wrong bytes from {offset}: {Convert.ToHexString(buffer.AsSpan(0, count))}");
                offset += count;
                context.Result = offset;
                context.Checkpoint(offset);
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            RoleContext.Require(context.HasEvents, "The stream broke.");
        }
    };

    /// <summary>A thread that closes its side's link at any moment.</summary>
    public static void Close(RoleContext context)
    {
        context.Ready();
        context.Link.Close(new CloseReason(CloseKind.Local, "closed"));
    }

    // These roles read and write on threads that block.
    private static void NoLoop() => RoleContext.Fail("A blocking member asked for the event loop.");

    private static byte[] Pattern(int offset, int count) =>
        [.. Enumerable.Range(offset + 1, count).Select(value => (byte)value)];
}
