using System.ComponentModel;
using System.Diagnostics;
using System.Runtime.Versioning;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// The door of a named pipe. The first instance fails if there is such a pipe already, so nobody can put one before it;
/// only this user may make further ones. Nothing of it outlives the process.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed class PipeDoor : Door
{
    // FILE_GENERIC_READ and FILE_GENERIC_WRITE without FILE_CREATE_PIPE_INSTANCE.
    private const string ClientRights = "0x12019b";

    // How long a start waits for a name without a server: the last connections of one that has ended still have it.
    private static readonly TimeSpan s_longestHold = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(1);

    private readonly PipeListening _listening;

    private PipeDoor(PipeAddress address, PipeListening listening)
    {
        Address = address;
        _listening = listening;
    }

    public override RendezvousAddress Address { get; }

    public override Watchable Listening => _listening;

    /// <summary>Begins to listen at an address.</summary>
    /// <exception cref="ConnectException">Another server or program has the address.</exception>
    /// <exception cref="IOException">The system refused it.</exception>
    public static PipeDoor Listen(PipeAddress address, AccessPolicy access)
    {
        var descriptor = new AccessDescriptor(Describe(access));
        long begun = Stopwatch.GetTimestamp();
        var pause = new UninterruptibleLock();
        while (true)
        {
            try
            {
                // The system would tell too, but for one that does not know the first of a name from others.
                return HasServer(address)
                    ? throw InUse(address, inner: null)
                    : new PipeDoor(address, new PipeListening(address.Place, descriptor));
            }
            catch (Win32Exception exception)
                when (exception.NativeErrorCode is WindowsNative.ErrorAccessDenied or WindowsNative.ErrorPipeBusy)
            {
                if (Stopwatch.GetElapsedTime(begun) > s_longestHold)
                {
                    throw InUse(address, exception);
                }
            }
            catch (Win32Exception exception)
            {
                throw new IOException(exception.Message, exception);
            }

            using (pause.Enter())
            {
                pause.Wait(s_pause);
            }
        }
    }

    public override void Check()
    {
        // No other program can take a pipe away.
    }

    public override Wire? TryAccept(Watchable listening, out AcceptOutcome outcome, out Exception? failure)
    {
        failure = null;
        try
        {
            Wire? wire = _listening.TryTake();
            outcome = wire is null ? AcceptOutcome.NoneWaits : AcceptOutcome.Accepted;
            return wire;
        }
        catch (Win32Exception exception)
        {
            failure = exception;
            outcome = AcceptOutcome.Failed;
            return null;
        }
    }

    public override void KeepSpare()
    {
        // A process has handles enough: it has no memory left before.
    }

    public override Wire? TryAcceptWithSpare(Watchable listening) => null;

    public override void CloseFormer(Watchable former)
    {
        // There is never another one.
    }

    /// <summary>Accepts no more clients. The connections that are open still have the name.</summary>
    public override void EndListening() => _listening.Dispose();

    public override void Remove() => _listening.Dispose();

    private static ConnectException InUse(PipeAddress address, Exception? inner) => new(
        ConnectFailure.AddressInUse,
        $"A server of another process, or of this one, already listens at {address.Name}: "
        + "stop that one first, or take another address.",
        inner);

    // Whether an instance waits for a client.
    private static bool HasServer(PipeAddress address)
    {
        const uint NoWait = 1;
        return WindowsNative.WaitNamedPipeW(address.Place, NoWait) != 0;
    }

    // The owner is the user, also of an elevated process, because clients look at it. Nobody may come over the network.
    private static string Describe(AccessPolicy access)
    {
        IEnumerable<Account> others = [WindowsAccounts.LocalSystem, .. access.Users];
        if (access.Group is { } group)
        {
            others = others.Append(group);
        }

        string own = WindowsSystem.OwnSid;
        return $"O:{own}D:P(A;;FA;;;{own})"
            + string.Concat(others.Select(static one => $"(A;;{ClientRights};;;{one})"));
    }
}
