using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A System V message queue. It outlives all processes, so the one that has made it removes it when it ends. If that
/// one is killed, the queue stays until the system restarts, with a message or none.
/// </summary>
internal sealed partial class SysvQueue : IKernelQueue
{
    private const string LimitFile = "/proc/sys/kernel/msgmax";
    private const string SpaceFile = "/proc/sys/kernel/msgmnb";
    private const int WithoutKey = 0; // IPC_PRIVATE: a new queue, which others find by its id
    private const int CreateNew = 0x200; // IPC_CREAT
    private const int OwnerReadsAndWrites = 0b110_000_000;
    private const int Remove = 0; // IPC_RMID
    private const int Interrupted = 4;
    private const int Removed = 43; // EIDRM
    private const int MostBytes = 256 << 10;

    private readonly int _id;
    private readonly byte[] _message = new byte[sizeof(long) + LargestMessage]; // struct msgbuf (msgop(2))
    private int _received;

    private SysvQueue(int id) => _id = id >= 0
        ? id
        : throw new IOException($"There is no System V message queue: error {Marshal.GetLastPInvokeError()}.");

    /// <summary>The largest message that the system allows; 0 if it has no such queues.</summary>
    public static int LargestMessage { get; } = File.Exists(LimitFile) && File.Exists(SpaceFile)
        ? (int)Math.Min(MostBytes, Math.Min(NumberIn(LimitFile), NumberIn(SpaceFile)))
        : 0;

    public string Place => _id.ToString(CultureInfo.InvariantCulture);

    public ReadOnlySpan<byte> Received => _message.AsSpan(sizeof(long), _received);

    public static SysvQueue Create()
    {
        var queue = new SysvQueue(Get(WithoutKey, CreateNew | OwnerReadsAndWrites));
        AppDomain.CurrentDomain.ProcessExit += (_, _) => _ = Control(queue._id, Remove, 0);
        return queue;
    }

    public static SysvQueue Open(string place) => new(int.Parse(place, CultureInfo.InvariantCulture));

    public void Send(ReadOnlySpan<byte> message)
    {
        BitConverter.TryWriteBytes(_message, 1L); // the type of the message
        message.CopyTo(_message.AsSpan(sizeof(long)));
        while (Send(_id, _message, (nuint)message.Length, 0) != 0)
        {
            ThrowUnlessInterrupted();
        }
    }

    public void Receive()
    {
        nint length;
        while ((length = Receive(_id, _message, (nuint)LargestMessage, 0, 0)) < 0)
        {
            ThrowUnlessInterrupted();
        }

        _received = (int)length;
    }

    private static long NumberIn(string file) => long.Parse(File.ReadAllText(file), CultureInfo.InvariantCulture);

    private static void ThrowUnlessInterrupted()
    {
        int error = Marshal.GetLastPInvokeError();
        if (error == Removed)
        {
            Thread.Sleep(Timeout.Infinite); // this process, or the server's, is ending
        }

        if (error != Interrupted)
        {
            throw new IOException($"The System V message queue fails: error {error}.");
        }
    }

    [LibraryImport("libc", EntryPoint = "msgget", SetLastError = true)]
    private static partial int Get(int key, int flags);

    [LibraryImport("libc", EntryPoint = "msgctl")]
    private static partial int Control(int queue, int command, nint buffer);

    [LibraryImport("libc", EntryPoint = "msgsnd", SetLastError = true)]
    private static partial int Send(int queue, ReadOnlySpan<byte> message, nuint length, int flags);

    [LibraryImport("libc", EntryPoint = "msgrcv", SetLastError = true)]
    private static partial nint Receive(int queue, Span<byte> message, nuint length, long type, int flags);
}
