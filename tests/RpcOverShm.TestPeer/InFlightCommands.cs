using System.Globalization;
using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;
using RpcOverShm.Systems;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>
/// Sends descriptors that nobody receives, until the kernel refuses this user further ones (ETOOMANYREFS). They stay in
/// flight until both ends of their sockets are closed.
/// </summary>
internal sealed class InFlightCommands
{
    private readonly List<Socket> _sockets = [];

    /// <summary>The reply is the number of descriptors that are in flight.</summary>
    public string SendAll()
    {
        using SafeFileHandle file = File.OpenHandle("/dev/null");
        int sent = 0;
        bool isRefused;
        do
        {
            sent += SendUntilFull(Connect(), file, out isRefused);
        }
        while (!isRefused);

        return sent.ToString(CultureInfo.InvariantCulture);
    }

    /// <summary>Closes the sockets with all that is in flight.</summary>
    public string Drop()
    {
        _sockets.ForEach(socket => socket.Dispose());
        _sockets.Clear();
        return "";
    }

    private static int SendUntilFull(Socket socket, SafeFileHandle file, out bool isRefused)
    {
        for (int sent = 0; ; sent++)
        {
            try
            {
                DescriptorPassing.Send(socket.SafeHandle, [0], [file]);
            }
            catch (Exception exception) when (exception is IOException or SegmentException)
            {
                isRefused = exception.Message.Contains("ETOOMANYREFS", StringComparison.Ordinal);
                return sent;
            }
        }
    }

    private Socket Connect()
    {
        string path = Path.Combine(Path.GetTempPath(), $"ros-flight-{Environment.ProcessId}-{_sockets.Count}");
        using Socket listener = UnixSockets.Listen(path);
        Socket sender = UnixSockets.Connect(path);
        _sockets.Add(sender);
        _sockets.Add(listener.Accept());
        File.Delete(path);
        return sender;
    }
}
