using System.ComponentModel;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>The client's way to a named pipe. Holds no state.</summary>
[SupportedOSPlatform("windows")]
internal static class PipeCaller
{
    // Not GENERIC_WRITE, which has the right to make further instances of the pipe.
    private const uint Rights = WindowsNative.FileReadData | WindowsNative.FileWriteData
        | WindowsNative.FileReadAttributes | WindowsNative.ReadControl | WindowsNative.Synchronize;

    // The server may learn who this is, and not act for it.
    private const uint Flags =
        WindowsNative.FlagOverlapped | WindowsNative.FlagSecurityPresent | WindowsNative.FlagIdentification;

    // The pause before the next attempt while no instance of the pipe waits.
    private static readonly TimeSpan s_retryPause = TimeSpan.FromMilliseconds(2);

    /// <summary>Connects to the server at an address. Waits for one that is busy until the token fires.</summary>
    /// <exception cref="ConnectException">There is no server, or it is closed to this user.</exception>
    /// <exception cref="IOException">The system refused it.</exception>
    public static async Task<Wire> ConnectAsync(PipeAddress address, CancellationToken cancellationToken)
    {
        while (true)
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (TryOpen(address.Place, out int error) is { } pipe)
            {
                return new PipeWire(pipe, isServer: false);
            }

            if (error != WindowsNative.ErrorPipeBusy)
            {
                throw Explain(address, error);
            }

            await Task.Delay(s_retryPause, cancellationToken).ConfigureAwait(false);
        }
    }

    private static unsafe KernelHandle? TryOpen(string name, out int error)
    {
        var pipe = new KernelHandle(WindowsNative.CreateFileW(
            name, Rights, share: 0, attributes: null, WindowsNative.OpenExisting, Flags, template: 0));
        error = pipe.IsInvalid ? Marshal.GetLastPInvokeError() : 0;
        return pipe.IsInvalid ? null : pipe;
    }

    private static Exception Explain(PipeAddress address, int error) => error switch
    {
        WindowsNative.ErrorFileNotFound or WindowsNative.ErrorPathNotFound => new ConnectException(
            ConnectFailure.NotListening,
            $"No server listens at {address.Name}: there is no such pipe. Start the server first"
            + (address.IsName ? ", as the same user." : ", with the same path."),
            new Win32Exception(error, WindowsNative.ErrorText(error))),
        WindowsNative.ErrorAccessDenied => new ConnectException(
            ConnectFailure.AccessDenied,
            $"The pipe of a server is at {address.Name}, but user {WindowsSystem.OwnSid} may not open it: run client "
            + "and server as the same user, or set AllowedUsers or AllowedGroup of the server.",
            new Win32Exception(error, WindowsNative.ErrorText(error))),
        _ => new IOException($"Cannot open {address.Name}: {WindowsNative.ErrorText(error)}.", error),
    };
}
