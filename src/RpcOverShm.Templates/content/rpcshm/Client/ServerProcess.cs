using System.Diagnostics;
using Grpc.Core;
using RpcOverShm;

namespace RpcShmNamespace.Client;

/// <summary>
/// The server, if this client has started it. A client whose server always runs needs neither this file nor the
/// reference to the project of the server.
/// </summary>
internal sealed class ServerProcess : IAsyncDisposable
{
    private readonly Process _process;

    private ServerProcess(Process process) => _process = process;

    /// <summary>Connects the channel. If nobody serves its address, starts the server first.</summary>
    public static async Task<ServerProcess?> StartIfNobodyServesAsync(ShmChannel channel)
    {
        using var timeout = new CancellationTokenSource(TimeSpan.FromSeconds(30));
        Task connected = channel.ConnectAsync(timeout.Token);
        ConnectivityState state = channel.State;
        while (!connected.IsCompleted && state is ConnectivityState.Idle or ConnectivityState.Connecting)
        {
            await Task.WhenAny(connected, channel.WaitForStateChangedAsync(state, timeout.Token));
            state = channel.State;
        }

        if (connected.IsCompleted || state == ConnectivityState.Ready)
        {
            await connected;
            return null;
        }

        ServerProcess server = Start();
        await server.WaitForAsync(connected);
        return server;
    }

    /// <summary>Stops the server: it stops at the end of its input.</summary>
    public async ValueTask DisposeAsync()
    {
        _process.StandardInput.Close();
        await _process.WaitForExitAsync();
        _process.Dispose();
    }

    // If the server ends, there is nothing to wait for, unless another client has started one at the same moment.
    private async Task WaitForAsync(Task connected)
    {
        await Task.WhenAny(connected, _process.WaitForExitAsync());
        if (!connected.IsCompleted && await Task.WhenAny(connected, Task.Delay(1000)) != connected)
        {
            throw new InvalidOperationException($"The server has ended with exit code {_process.ExitCode}.");
        }

        await connected;
    }

    private static ServerProcess Start()
    {
        string program = Path.Combine(AppContext.BaseDirectory, "RpcShm-App.Server");
        var start = new ProcessStartInfo(program, ["--until-end-of-input"]) { RedirectStandardInput = true };
        return new ServerProcess(Process.Start(start)!);
    }
}
