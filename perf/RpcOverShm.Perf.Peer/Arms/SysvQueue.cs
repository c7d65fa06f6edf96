using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A System V message queue. It outlives all processes, so its key says which one has made it: that one removes it when
/// it ends, and the next that makes one removes those of killed processes.
/// </summary>
internal sealed partial class SysvQueue : IKernelQueue
{
    private const string LimitFile = "/proc/sys/kernel/msgmax";
    private const string ListFile = "/proc/sysvipc/msg";
    private const int CreateNew = 0x200 | 0x400; // IPC_CREAT | IPC_EXCL
    private const int OwnerReadsAndWrites = 0b110_000_000;
    private const int Remove = 0; // IPC_RMID
    private const int Interrupted = 4;
    private const int MostBytes = 256 << 10;

    // The upper byte of a key is the number of the queue in its process, the rest the process id.
    private const int FirstOfProcess = 0x61;
    private const int LastOfProcess = 0x6F;
    private const int ProcessBits = 24;

    private static int s_made;

    private readonly int _id;
    private readonly byte[] _message = new byte[sizeof(long) + LargestMessage]; // struct msgbuf (msgop(2))
    private int _received;

    private SysvQueue(int id) => _id = id >= 0
        ? id
        : throw new IOException($"There is no System V message queue: error {Marshal.GetLastPInvokeError()}.");

    /// <summary>The largest message that the system allows; 0 if it has no such queues.</summary>
    public static int LargestMessage { get; } = File.Exists(LimitFile) && File.Exists(ListFile)
        ? (int)Math.Min(MostBytes, long.Parse(File.ReadAllText(LimitFile), CultureInfo.InvariantCulture))
        : 0;

    public string Place => _id.ToString(CultureInfo.InvariantCulture);

    public ReadOnlySpan<byte> Received => _message.AsSpan(sizeof(long), _received);

    public static SysvQueue Create()
    {
        RemoveOfDeadProcesses();
        int number = FirstOfProcess + Interlocked.Increment(ref s_made) - 1;
        int key = (number << ProcessBits) | Environment.ProcessId;
        var queue = new SysvQueue(Get(key, CreateNew | OwnerReadsAndWrites));
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

    private static void RemoveOfDeadProcesses()
    {
        foreach (string line in File.ReadLines(ListFile).Skip(1))
        {
            string[] fields = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            int key = (int)long.Parse(fields[0], CultureInfo.InvariantCulture);
            int process = key & ((1 << ProcessBits) - 1);
            if (key >> ProcessBits is >= FirstOfProcess and <= LastOfProcess && !Directory.Exists($"/proc/{process}"))
            {
                _ = Control(int.Parse(fields[1], CultureInfo.InvariantCulture), Remove, 0);
            }
        }
    }

    private static void ThrowUnlessInterrupted()
    {
        int error = Marshal.GetLastPInvokeError();
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
