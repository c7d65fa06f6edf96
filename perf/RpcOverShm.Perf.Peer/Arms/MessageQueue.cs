using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A POSIX message queue. Its name exists for a few microseconds only, so that a killed process leaves none behind: it
/// is unlinked as soon as the queue is made, and the other side opens the descriptor of this process. The kernel
/// removes the queue with the last process that has it open.
/// </summary>
internal sealed partial class MessageQueue : IKernelQueue
{
    private const string LimitFile = "/proc/sys/fs/mqueue/msgsize_max";
    private const int ReadWrite = 2;
    private const int CreateNew = 0x40 | 0x80;
    private const uint OwnerReadsAndWrites = 0b110_000_000;
    private const int Interrupted = 4;

    // A user has 800 KiB for queues by default (RLIMIT_MSGQUEUE). In a round trip one message is on its way.
    private const int MostBytes = 256 << 10;
    private const int Messages = 1;

    private static int s_made;

    private readonly int _descriptor;
    private readonly byte[] _buffer = new byte[LargestMessage];
    private int _received;

    private MessageQueue(int descriptor) => _descriptor = descriptor >= 0
        ? descriptor
        : throw new IOException($"There is no message queue: error {Marshal.GetLastPInvokeError()}.");

    /// <summary>The largest message that the system allows; 0 if it has no such queues.</summary>
    public static int LargestMessage { get; } = File.Exists(LimitFile)
        ? (int)Math.Min(MostBytes, long.Parse(File.ReadAllText(LimitFile), CultureInfo.InvariantCulture))
        : 0;

    public string Place => $"/proc/{Environment.ProcessId}/fd/{_descriptor}";

    public ReadOnlySpan<byte> Received => _buffer.AsSpan(0, _received);

    public static MessageQueue Create()
    {
        string name = $"/rpcovershm-perf-{Environment.ProcessId}-{Interlocked.Increment(ref s_made)}";
        var attributes = new Attributes { MostMessages = Messages, MessageBytes = LargestMessage };
        var queue = new MessageQueue(OpenQueue(name, ReadWrite | CreateNew, OwnerReadsAndWrites, attributes));
        _ = Unlink(name);
        return queue;
    }

    public static MessageQueue Open(string path) => new(OpenFile(path, ReadWrite));

    public void Send(ReadOnlySpan<byte> message)
    {
        while (Send(_descriptor, message, (nuint)message.Length, 0) != 0)
        {
            ThrowUnlessInterrupted();
        }
    }

    public void Receive()
    {
        nint length;
        while ((length = Receive(_descriptor, _buffer, (nuint)_buffer.Length, 0)) < 0)
        {
            ThrowUnlessInterrupted();
        }

        _received = (int)length;
    }

    private static void ThrowUnlessInterrupted()
    {
        int error = Marshal.GetLastPInvokeError();
        if (error != Interrupted)
        {
            throw new IOException($"The message queue fails: error {error}.");
        }
    }

    [LibraryImport("libc", EntryPoint = "mq_open", StringMarshalling = StringMarshalling.Utf8, SetLastError = true)]
    private static partial int OpenQueue(string name, int flags, uint mode, in Attributes attributes);

    [LibraryImport("libc", EntryPoint = "open", StringMarshalling = StringMarshalling.Utf8, SetLastError = true)]
    private static partial int OpenFile(string path, int flags);

    [LibraryImport("libc", EntryPoint = "mq_unlink", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int Unlink(string name);

    [LibraryImport("libc", EntryPoint = "mq_send", SetLastError = true)]
    private static partial int Send(int queue, ReadOnlySpan<byte> message, nuint length, uint priority);

    [LibraryImport("libc", EntryPoint = "mq_receive", SetLastError = true)]
    private static partial nint Receive(int queue, Span<byte> message, nuint length, nint priority);

    // struct mq_attr (mq_getattr(3)) on 64-bit Linux: eight longs, of which the last four are reserved.
    [StructLayout(LayoutKind.Sequential, Size = 8 * sizeof(long))]
    private struct Attributes
    {
        public long Flags;
        public long MostMessages;
        public long MessageBytes;
    }
}
