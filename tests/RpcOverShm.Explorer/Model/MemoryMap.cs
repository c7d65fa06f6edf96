namespace RpcOverShm.Explorer.Model;

/// <summary>
/// The locations of the model memory, one 64-bit value each: the four words of each process's segment, a few private
/// words of each process, and the data of the rings in pieces of eight bytes. Process 0 owns segment 0. A topic has a
/// ring in segment 0 only, and each other segment is that of a client.
/// </summary>
internal sealed class MemoryMap(int capacity, int secondCapacity = 0, int rings = 2)
{
    public const int Processes = 3;

    public const int Tail = 0;
    public const int ParkedForSpace = 1;
    public const int Head = 2;
    public const int ParkedForData = 3;

    public const int NewestRecord = 1;
    public const int OldestRecord = 2;
    public const int SubscriberHead = 2; // stands for the frames that tell the publisher
    public const int TopicParking = 3;

    public const int LocalEvents = 0;
    public const int PeerGone = 1;
    public const int Closed = 2;
    public const int SocketClosed = 3;

    private const int WordsEach = 4;
    private const int FirstPrivate = Processes * WordsEach;
    private const int FirstData = 2 * Processes * WordsEach;

    private static readonly string[] s_words = ["tail", "parked-for-space", "head", "parked-for-data"];
    private static readonly string[] s_privates = ["local-events", "peer-gone", "closed", "socket-closed"];

    public int Capacity => capacity;

    public int SecondCapacity => secondCapacity;

    public int Pieces => (capacity + secondCapacity) / sizeof(long);

    public int Rings => rings;

    public int Size => FirstData + (rings * Pieces);

    public static int Word(int segment, int word) => (segment * WordsEach) + word;

    public static int Private(int process, int word) => FirstPrivate + (process * WordsEach) + word;

    public int Data(int segment, int piece) => FirstData + (segment * Pieces) + piece;

    public static bool IsData(int location) => location >= FirstData;

    /// <summary>Returns the location's name in a schedule.</summary>
    public string NameOf(int location) => location switch
    {
        < FirstPrivate => $"{Side(location / WordsEach)}.{s_words[location % WordsEach]}",
        < FirstData =>
            $"{Side((location - FirstPrivate) / WordsEach)}.{s_privates[(location - FirstPrivate) % WordsEach]}",
        _ => $"{Side((location - FirstData) / Pieces)}.data[{(location - FirstData) % Pieces * sizeof(long)}]",
    };

    private static string Side(int process) => ((char)('A' + process)).ToString();
}
