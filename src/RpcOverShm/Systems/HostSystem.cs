using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Systems;

/// <summary>
/// The differences of operating systems, but for what one connection has: <see cref="Wire"/>,
/// <see cref="MappedMemory"/>, <see cref="Signal"/>. There is one room for each system, with one implementation of
/// this class. All members are thread-safe. Each is a system call or more, so a virtual call does not count.
/// </summary>
internal abstract unsafe class HostSystem
{
    private static HostSystem? s_current;

    /// <summary>The system of this process.</summary>
    /// <exception cref="PlatformNotSupportedException">There is no room for it.</exception>
    public static HostSystem Current => s_current ?? throw NotSupported();

    /// <summary>Whether there is a transport for this system.</summary>
    public static bool IsSupported => s_current is not null;

    /// <summary>Returns the exception that the public types throw on a system without a transport.</summary>
    public static PlatformNotSupportedException NotSupported() => new(
        $"RpcOverShm works on Linux, on x64 and arm64; this is {RuntimeInformation.RuntimeIdentifier}. "
        + "Use gRPC over another transport here, for instance Grpc.Net.Client over a named pipe.");

    /// <summary>Chooses the system, once, before any other code of this assembly runs.</summary>
    public static void Choose(HostSystem? system) => s_current = system;

    // ---- Memory

    /// <summary>The number of handles that come with a hello: those of the memory and of the signal.</summary>
    public abstract int HandlesOfHello { get; }

    /// <summary>
    /// The mappings that a process may have; <see cref="long.MaxValue"/> if the system does not limit them.
    /// </summary>
    public abstract long MaxMappings { get; }

    /// <summary>The handles that this process may have open, likewise. It can change.</summary>
    public abstract long MaxHandles { get; }

    /// <summary>The name of a quarter of <see cref="MaxMappings"/>, for users.</summary>
    public abstract string MaxMappingsName { get; }

    /// <summary>The name of <see cref="MaxHandles"/>, for users.</summary>
    public abstract string MaxHandlesName { get; }

    /// <summary>The word of the system for handles, in messages.</summary>
    public abstract string HandlesName { get; }

    /// <summary>Whether a wire passes handles of memory after the handshake too.</summary>
    public abstract bool PassesHandlesLater { get; }

    /// <summary>Creates memory of this process, mapped for writing. Nobody else can map it for writing.</summary>
    /// <param name="sizeBytes">The size, which never changes.</param>
    /// <param name="firstBytes">The bytes from the start that have memory at once; at most the size.</param>
    /// <exception cref="SegmentException">A system call failed.</exception>
    public abstract MappedMemory CreateMemory(long sizeBytes, long firstBytes);

    /// <summary>
    /// Checks a handle that a peer has passed, which is not trusted, and maps its memory for reading. An access to the
    /// first bytes can then not fail. Takes the handle over, also when it throws.
    /// </summary>
    /// <param name="handle">The handle.</param>
    /// <param name="sizeBytes">The size that the peer has announced.</param>
    /// <param name="firstBytes">The bytes from the start that must have memory.</param>
    /// <exception cref="SegmentException">The handle failed a check, or the mapping failed.</exception>
    public abstract MappedMemory OpenMemory(SafeHandle handle, long sizeBytes, long firstBytes);

    // ---- Sleep and wake

    /// <summary>Creates the signal of one side of one link.</summary>
    /// <exception cref="SegmentException">The system lacks something for it.</exception>
    public abstract Signal CreateSignal();

    /// <summary>
    /// Sleeps while a word of this process alone has the expected value, at most for the timeout. Wake-ups can be
    /// spurious.
    /// </summary>
    public abstract void WaitPrivate(uint* address, uint expected, TimeSpan timeout);

    /// <summary>Wakes all threads that sleep on a word of this process alone.</summary>
    public abstract void WakePrivate(uint* address);

    /// <summary>Creates a poll; null if the system lacks something for it.</summary>
    /// <param name="isDoor">Whether it is for doors, and for wires during their handshakes.</param>
    public abstract EventPoll? TryCreatePoll(bool isDoor);

    // ---- Threads

    /// <summary>
    /// The processor time of the calling thread in nanoseconds, since an arbitrary moment. Unlike a wall clock it does
    /// not count the time in which the thread waits for a processor.
    /// </summary>
    public abstract long ThreadTime { get; }

    /// <summary>The system's number of the calling thread.</summary>
    public abstract int CurrentThreadId { get; }

    /// <summary>The processor time in nanoseconds that a thread of this process has used; 0 if it has ended.</summary>
    public abstract long TimeOfThread(int threadId);

    /// <summary>Whether a thread of this process waits for something; true if the system does not tell.</summary>
    public abstract bool IsThreadBlocked(int threadId);

    /// <summary>
    /// A full fence on every processor that runs a thread of this process: each of them sees what was stored before,
    /// and this thread sees what each has stored.
    /// </summary>
    public abstract void FenceProcess();

    // ---- Accounts

    /// <summary>The user of this process.</summary>
    public abstract Account OwnUser { get; }

    /// <summary>Whether a user can read the memory of every process anyway.</summary>
    public abstract bool IsAllPowerful(Account user);

    /// <summary>The name of that user.</summary>
    public abstract string AllPowerfulName { get; }

    /// <summary>The means by which the system says who a peer is, as the type of an identity.</summary>
    public abstract string IdentitySource { get; }

    /// <summary>Returns the user of a name, or of a number or SID; null if there is none. May block.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public abstract Account? FindUser(string name);

    /// <summary>Returns the group of a name, or of a number or SID; null if there is none. May block.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public abstract Account? FindGroup(string name);

    /// <summary>Returns the name of a user; null if the system has none. May block.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public abstract string? NameOf(Account user);

    /// <summary>The values of an option that names accounts, as a part of a sentence.</summary>
    public abstract string AccountsAllowed { get; }

    // ---- Rendezvous

    /// <summary>The addresses that are allowed besides a name, as a part of a sentence.</summary>
    public abstract string PathsAllowed { get; }

    /// <summary>Checks the option RuntimeDirectory.</summary>
    /// <exception cref="ArgumentException">The system does not allow it; the message says what is allowed.</exception>
    public abstract void CheckRuntimeDirectory(string? directory, string option);

    /// <summary>Makes the address of a name, which has legal segments.</summary>
    /// <param name="text">The whole address, for messages.</param>
    /// <param name="name">The name: segments separated by '/'.</param>
    /// <param name="runtimeDirectory">The option RuntimeDirectory.</param>
    /// <exception cref="ArgumentException">The system does not allow it.</exception>
    public abstract RendezvousAddress AddressOfName(string text, string name, string? runtimeDirectory);

    /// <summary>Makes the address of a path, which begins with '/'.</summary>
    /// <exception cref="ArgumentException">The system does not allow it.</exception>
    public abstract RendezvousAddress AddressOfPath(string text, string path);

    /// <summary>Begins to listen at a resolved address. May wait for the file system.</summary>
    /// <exception cref="ConnectException">Another server or program has the address.</exception>
    /// <exception cref="IOException">The system refused a step.</exception>
    public abstract Door Listen(RendezvousAddress address, AccessPolicy access, ILogger logger);

    /// <summary>
    /// Connects to the server at a resolved address. Waits, as long as the token allows, for a server that is busy, and
    /// not for one that is not there.
    /// </summary>
    /// <exception cref="ConnectException">There is no server, or it is closed to this user.</exception>
    /// <exception cref="IOException">The system refused a step.</exception>
    public abstract Task<Wire> ConnectAsync(
        RendezvousAddress address, ILogger logger, CancellationToken cancellationToken);
}
