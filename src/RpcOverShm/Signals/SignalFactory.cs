namespace RpcOverShm.Signals;

/// <summary>Chooses how threads of this process sleep and wake: by futex where it is Linux, else by polling.</summary>
internal static class SignalFactory
{
    public static ISignal Create() =>
        OperatingSystem.IsLinux() && Segments.SystemCallNumbers.AreKnown
            ? new FutexSignal(FutexSignal.IsWaitvSupported)
            : new PollingSignal();
}
