using System.IO.Pipes;
using System.Net.Sockets;
using System.Runtime.Versioning;
using System.Security.AccessControl;
using System.Security.Principal;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>A foreign program at an address: it accepts clients and sends at most a greeting.</summary>
internal sealed class SilentListener : IDisposable
{
    private const string PipeRoot = @"\\.\pipe\";

    private readonly string _place;
    private readonly byte[]? _greeting;
    private readonly Socket? _socket;        // null on Windows
    private readonly Task _accepting;
    private readonly CancellationTokenSource _end = new();
    private readonly TaskCompletionSource _accepted = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly List<Stream> _clients = [];
    private NamedPipeServerStream? _waiting; // for the next client, on Windows

    /// <param name="place">The path of a socket; on Windows the name of a pipe.</param>
    /// <param name="greeting">The bytes that each client gets; null for none.</param>
    public SilentListener(string place, byte[]? greeting = null)
    {
        _place = place;
        _greeting = greeting;
        if (OperatingSystem.IsWindows())
        {
            _waiting = CreatePipe();
        }
        else
        {
            _socket = UnixSockets.Listen(place);
        }

        _accepting = AcceptAsync();
    }

    /// <summary>Completes with the first client.</summary>
    public Task Accepted => _accepted.Task;

    public int ClientCount
    {
        get
        {
            lock (_clients)
            {
                return _clients.Count;
            }
        }
    }

    public void Dispose()
    {
        _end.Cancel();
        Assert.That(_accepting.Wait(Timeouts.Wait), "It accepts nobody any more.");
        _waiting?.Dispose();
        lock (_clients)
        {
            _clients.ForEach(client => client.Dispose());
        }

        if (_socket is not null)
        {
            _socket.Dispose();
            File.Delete(_place);
        }
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Stream client = OperatingSystem.IsWindows()
                    ? await AcceptPipeAsync()
                    : new NetworkStream(await _socket!.AcceptAsync(_end.Token), ownsSocket: true);
                lock (_clients)
                {
                    _clients.Add(client);
                }

                if (_greeting is not null)
                {
                    await client.WriteAsync(_greeting, _end.Token);
                }

                _accepted.TrySetResult();
            }
        }
        catch (Exception exception) when (exception
            is SocketException or IOException or ObjectDisposedException or OperationCanceledException)
        {
            // The test has ended.
        }
    }

    [SupportedOSPlatform("windows")]
    private async Task<Stream> AcceptPipeAsync()
    {
        NamedPipeServerStream pipe = _waiting!;
        await pipe.WaitForConnectionAsync(_end.Token);
        _waiting = CreatePipe(); // at once, so that the name stays taken
        return pipe;
    }

    [SupportedOSPlatform("windows")]
    private NamedPipeServerStream CreatePipe()
    {
        const int BufferBytes = 4096;

        // Wine gives no owner to a pipe without a descriptor of its own, and clients look at the owner.
        SecurityIdentifier user = WindowsIdentity.GetCurrent().User!;
        var security = new PipeSecurity();
        security.SetOwner(user);
        security.AddAccessRule(new PipeAccessRule(user, PipeAccessRights.FullControl, AccessControlType.Allow));
        return NamedPipeServerStreamAcl.Create(
            _place[PipeRoot.Length..],
            PipeDirection.InOut,
            NamedPipeServerStream.MaxAllowedServerInstances,
            PipeTransmissionMode.Byte,
            PipeOptions.Asynchronous,
            BufferBytes,
            BufferBytes,
            security);
    }
}
