using System.IO.MemoryMappedFiles;
using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A file that two processes have mapped: a word for each side on a line of its own, and room for a message each way.
/// Mapped until the process ends.
/// <code>
///      0  word of the client     128  length of its message    192  its process    208  its event
///    256  word of the server     384  length of its message    448  its process    464  its event
///   4096  message of the client  4096 + 16 MiB  message of the server
/// </code>
/// </summary>
internal sealed unsafe partial class MappedLines
{
    private const int MessageBytes = 16 << 20;
    private const int MessagesOffset = 4096;
    private const int LineBytes = 256;
    private const int LengthOffset = 128;
    private const int ProcessOffset = 192;
    private const int EventOffset = 208; // a sem_t, which has 32 bytes
    private const long FileBytes = MessagesOffset + (2L * MessageBytes);

    private readonly byte* _start;
    private readonly bool _isClient;

    public MappedLines(string path, bool isClient)
    {
        _isClient = isClient;
        using var file = MemoryMappedFile.CreateFromFile(
            path, isClient ? FileMode.Open : FileMode.CreateNew, mapName: null, FileBytes);

        // The accessor is never disposed, so the pointer stays good.
        MemoryMappedViewAccessor view = file.CreateViewAccessor();
        view.SafeMemoryMappedViewHandle.AcquirePointer(ref _start);
    }

    /// <summary>The word that this side writes; a store publishes all writes before it.</summary>
    public long Own
    {
        get => Volatile.Read(ref Word(_isClient));
        set => Volatile.Write(ref Word(_isClient), value);
    }

    /// <summary>The word that the other side writes.</summary>
    public long Other => Volatile.Read(ref Word(!_isClient));

    /// <summary>The process of this side, for arms that need it.</summary>
    public int OwnProcess
    {
        set => *(int*)(Line(_isClient) + ProcessOffset) = value;
    }

    /// <summary>The process of the other side; 0 until it has written it.</summary>
    public int OtherProcess => *(int*)(Line(!_isClient) + ProcessOffset);

    /// <summary>Makes both sides' events, before the client opens the file.</summary>
    public void MakeEvents()
    {
        const int amongProcesses = 1;
        if (MakeSemaphore(Event(ofClient: true), amongProcesses, 0) != 0
            || MakeSemaphore(Event(ofClient: false), amongProcesses, 0) != 0)
        {
            throw new IOException("The C library makes no semaphores that processes share.");
        }
    }

    /// <summary>Sets the other side's event.</summary>
    public void SetEvent() => _ = PostSemaphore(Event(!_isClient));

    /// <summary>Waits until the other side has set this side's event, and resets it.</summary>
    public void AwaitEvent()
    {
        const int interrupted = 4;
        while (WaitForSemaphore(Event(_isClient)) != 0)
        {
            int error = Marshal.GetLastPInvokeError();
            if (error != interrupted)
            {
                throw new IOException($"The semaphore fails: error {error}.");
            }
        }
    }

    /// <summary>Copies a message to where the other side finds it.</summary>
    public void Put(ReadOnlySpan<byte> message)
    {
        message.CopyTo(new Span<byte>(Message(_isClient), MessageBytes));
        *(int*)(Line(_isClient) + LengthOffset) = message.Length;
    }

    /// <summary>The other side's message, where it lies.</summary>
    public ReadOnlySpan<byte> Get() => new(Message(!_isClient), *(int*)(Line(!_isClient) + LengthOffset));

    /// <summary>Answers the request that came with a word: the server's side.</summary>
    public void Answer(long word, bool carriesMessages)
    {
        if (carriesMessages)
        {
            ReadOnlySpan<byte> request = Get();
            ServedTally.CountRequest(request);
            Put(request);
        }
        else
        {
            ServedTally.Count(wrongBytes: 0);
        }

        Own = word;
    }

    private byte* Event(bool ofClient) => Line(ofClient) + EventOffset;

    private ref long Word(bool ofClient) => ref *(long*)Line(ofClient);

    private byte* Line(bool ofClient) => _start + (ofClient ? 0 : LineBytes);

    private byte* Message(bool ofClient) => _start + MessagesOffset + (ofClient ? 0 : MessageBytes);

    [LibraryImport("libc", EntryPoint = "sem_init")]
    private static partial int MakeSemaphore(byte* semaphore, int isShared, uint value);

    [LibraryImport("libc", EntryPoint = "sem_post")]
    private static partial int PostSemaphore(byte* semaphore);

    [LibraryImport("libc", EntryPoint = "sem_wait", SetLastError = true)]
    private static partial int WaitForSemaphore(byte* semaphore);
}
