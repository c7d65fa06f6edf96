using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// The process at the other end of a pipe, as the system names it: its user, and the way of handles from it and to it.
/// Its members but <see cref="Dispose"/> are thread-safe.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class PipePeer : IDisposable
{
    private const int KernelObject = 6;
    private const uint OwnerInformation = 1;
    private const uint Watching = WindowsNative.Synchronize | WindowsNative.ProcessQueryLimited;

    private readonly KernelHandle? _process; // of a client
    private readonly int _deniedError;       // why this process may not take handles out of it; 0 if it may

    private PipePeer(PeerIdentity identity, KernelHandle? process, int deniedError)
    {
        Identity = identity;
        _process = process;
        _deniedError = deniedError;
    }

    public PeerIdentity Identity { get; }

    /// <summary>The client of a pipe of which this process has the server's end.</summary>
    /// <param name="pipe">The pipe.</param>
    /// <param name="acceptedAt">The file time at which the client was accepted.</param>
    /// <exception cref="IOException">The system does not say who it is.</exception>
    public static PipePeer OfClient(KernelHandle pipe, long acceptedAt)
    {
        int processId;
        if (WindowsNative.GetNamedPipeClientProcessId(pipe, &processId) == 0)
        {
            throw new IOException($"The system does not name the client's process: {WindowsNative.LastErrorText()}.");
        }

        KernelHandle process = Open(processId, Watching | WindowsNative.ProcessDuplicateHandle);
        int deniedError = process.IsInvalid ? Marshal.GetLastPInvokeError() : 0;
        if (process.IsInvalid)
        {
            // Its user is known nevertheless, so that it can be refused with a reason.
            process = Open(processId, Watching);
        }

        if (process.IsInvalid)
        {
            throw new IOException(ExplainDenied(processId, Marshal.GetLastPInvokeError()));
        }

        try
        {
            CheckBegin(process, processId, acceptedAt);
            Account user = WindowsAccounts.UserOf(process);
            return new PipePeer(new PeerIdentity(processId, user, user), process, deniedError);
        }
        catch
        {
            process.Dispose();
            throw;
        }
    }

    /// <summary>
    /// The server of a pipe of which this process has the client's end. Its user is the owner of the pipe, which nobody
    /// can make another user.
    /// </summary>
    /// <exception cref="IOException">The system does not say who it is.</exception>
    public static PipePeer OfServer(KernelHandle pipe)
    {
        int processId;
        if (WindowsNative.GetNamedPipeServerProcessId(pipe, &processId) == 0)
        {
            throw new IOException($"The system does not name the server's process: {WindowsNative.LastErrorText()}.");
        }

        nint owner;
        nint unused;
        nint descriptor;
        int error = WindowsNative.GetSecurityInfo(
            pipe, KernelObject, OwnerInformation, &owner, &unused, &unused, &unused, &descriptor);
        if (error != 0)
        {
            throw new IOException($"The system does not name the pipe's owner: {WindowsNative.ErrorText(error)}.");
        }

        try
        {
            // A security descriptor may lack an owner.
            Account user = owner != 0
                ? WindowsAccounts.OfSid(owner)
                : throw new IOException($"The pipe of process {processId} has no owner, so its user is not known.");
            return new PipePeer(new PeerIdentity(processId, user, user), process: null, deniedError: 0);
        }
        finally
        {
            WindowsNative.LocalFree(descriptor);
        }
    }

    /// <summary>Returns whether the process's user is a member of a group.</summary>
    /// <exception cref="IOException">The system does not tell.</exception>
    public bool IsMember(Account group)
    {
        if (_process is not null)
        {
            return WindowsAccounts.IsMember(_process, group);
        }

        using KernelHandle process = Open(Identity.ProcessId, WindowsNative.ProcessQueryLimited);
        return process.IsInvalid
            ? throw new IOException(ExplainDenied(Identity.ProcessId, Marshal.GetLastPInvokeError()))
            : WindowsAccounts.IsMember(process, group);
    }

    /// <summary>
    /// Checks, after bytes have come, that their sender has the user of the process that the system has named: the id
    /// of a process can be that of another one by now.
    /// </summary>
    /// <exception cref="IOException">It has another user, or the system does not tell.</exception>
    public void CheckByImpersonation(KernelHandle pipe)
    {
        Account sender = WindowsAccounts.UserOfClient(pipe);
        if (sender != Identity.User)
        {
            throw new IOException($"The sender of the hello is user {sender}, and its process is {Identity}.");
        }
    }

    /// <summary>
    /// Takes a handle of the client's process over, with the rights of its type and not more. The client keeps its own.
    /// </summary>
    /// <exception cref="SegmentException">
    /// There is no such handle, it has not these rights, or this process may not take it.
    /// </exception>
    public KernelHandle Pull(nint value, string type)
    {
        CheckAllowed();
        uint rights = type == HandOver.SectionType
            ? WindowsNative.SectionMapRead | WindowsNative.SectionQuery
            : WindowsNative.SemaphoreModifyState;

        // With the client's own rights first: the system would also grant those that the client's handle lacks.
        nint copy = KernelHandle.DuplicateFrom(_process!, value);
        if (copy == 0)
        {
            throw CannotTake(value);
        }

        var whole = new KernelHandle(copy);
        if (KernelHandle.TypeOf(copy) is var found && found != type)
        {
            ForeignHandles.Shared.Close(whole);
            throw new SegmentException($"The client passed a handle of the type {found}; {type} is right.");
        }

        using (whole)
        {
            uint granted = KernelHandle.RightsOf(copy);
            if ((granted & rights) != rights)
            {
                throw new SegmentException(
                    $"The client passed a handle with the rights 0x{granted:X}, and 0x{rights:X} are required.");
            }

            nint reduced = KernelHandle.Duplicate(whole, KernelHandle.OwnProcess, rights);
            return reduced != 0 ? new KernelHandle(reduced) : throw CannotTake(value);
        }
    }

    /// <summary>Puts handles of this process into the client's, and tells the values that they have there.</summary>
    /// <exception cref="SegmentException">The system refused it, and the client's process has none of them.</exception>
    public void Push(IReadOnlyList<SafeHandle> handles, Span<long> values)
    {
        int pushed = 0;
        try
        {
            for (; pushed < handles.Count; pushed++)
            {
                CheckAllowed();
                values[pushed] = Duplicate(handles[pushed], _process!);
            }
        }
        catch
        {
            TakeBack(values[..pushed]);
            throw;
        }
    }

    /// <summary>Closes handles in the client's process that were pushed there and of which it does not know.</summary>
    public void TakeBack(ReadOnlySpan<long> values)
    {
        foreach (long value in values)
        {
            nint moved = KernelHandle.DuplicateFrom(_process!, (nint)value, WindowsNative.DuplicateCloseSource);
            new KernelHandle(moved).Dispose();
        }
    }

    /// <summary>Duplicates a handle of this process with the rights of a peer. Returns its value there.</summary>
    /// <exception cref="SegmentException">The system refused it.</exception>
    public static long Duplicate(SafeHandle handle, KernelHandle process)
    {
        nint copy = KernelHandle.Duplicate(handle, process, ((KernelHandle)handle).RightsOfPeer);
        int error = Marshal.GetLastPInvokeError();
        return copy != 0
            ? copy
            : throw new SegmentException($"Cannot pass a handle to the peer: {WindowsNative.ErrorText(error)}.")
            {
                IsShortage = WindowsNative.IsShortage(error),
            };
    }

    /// <summary>Opens the process to hear of its end. Returns null if that is not possible, with the problem.</summary>
    public ProcessHandle? OpenProcess(out string? problem)
    {
        // A process that is open already has an id that cannot be another one's.
        KernelHandle opened = _process is null
            ? Open(Identity.ProcessId, Watching)
            : new KernelHandle(KernelHandle.Duplicate(_process, KernelHandle.OwnProcess, Watching));
        if (opened.IsInvalid)
        {
            problem = $"the system does not open it ({WindowsNative.LastErrorText()})";
            return null;
        }

        return ProcessHandle.Of(opened, Identity.ProcessId, out problem);
    }

    public void Dispose() => _process?.Dispose();

    private static KernelHandle Open(int processId, uint rights) =>
        new(WindowsNative.OpenProcess(rights, inherit: 0, processId));

    // The id of the client's process may be that of another one by now.
    private static void CheckBegin(KernelHandle process, int processId, long acceptedAt)
    {
        if (ProcessHandle.BeginOf(process, out string? problem) is not { } begun)
        {
            throw new IOException($"Process {processId} cannot be told from a later one: {problem}.");
        }

        if (begun > acceptedAt)
        {
            throw new IOException(
                $"Process {processId} began after the client had connected, so it is another process than the "
                + "client's, or the system's clock was set back: connect again.");
        }
    }

    private SegmentException CannotTake(long value) => new(
        $"Cannot take the handle {value} of the client's process {Identity.ProcessId}: "
        + $"{WindowsNative.LastErrorText()}.");

    private static string ExplainDenied(int processId, int error) =>
        $"This process may not open process {processId} ({WindowsNative.ErrorText(error)}). A server takes the handles "
        + "of its memory out of the client: run client and server as the same user, and the server elevated if the "
        + "client is.";

    private void CheckAllowed()
    {
        if (_deniedError != 0)
        {
            throw new SegmentException(ExplainDenied(Identity.ProcessId, _deniedError));
        }
    }
}
