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
        ConnectivityState state;
        while ((state = channel.State) is ConnectivityState.Idle or ConnectivityState.Connecting)
        {
            await channel.WaitForStateChangedAsync(state);
        }

        ServerProcess? server = state == ConnectivityState.Ready ? null : Start();
        await connected;
        return server;
    }

    /// <summary>Stops the server: it stops at the end of its input.</summary>
    public async ValueTask DisposeAsync()
    {
        _process.StandardInput.Close();
        await _process.WaitForExitAsync();
        _process.Dispose();
    }

    private static ServerProcess Start()
    {
        string program = Path.Combine(AppContext.BaseDirectory, "RpcShm-App.Server");
        var start = new ProcessStartInfo(program, ["--until-end-of-input"]) { RedirectStandardInput = true };
        return new ServerProcess(Process.Start(start)!);
    }
}
