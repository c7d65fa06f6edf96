using System.IO.Pipes;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.FunctionalTests.Handles;

/// <summary>Makes what the handles of tests stand for, and uses what came at the other end.</summary>
internal sealed class OpenThings : IDisposable
{
    private readonly TestDirectory _directory = new();
    private readonly List<IDisposable> _made = [];
    private int _files;

    /// <summary>Opens a new file with this text, to be read.</summary>
    public SafeHandle File(string text)
    {
        string path = _directory.Combine($"file{Interlocked.Increment(ref _files)}");
        System.IO.File.WriteAllText(path, text);
        return Keep(System.IO.File.OpenHandle(path));
    }

    /// <summary>Makes a pipe that has this text, and returns its end for reading; that for writing is closed.</summary>
    public SafeHandle Pipe(string text)
    {
        using var writing = new AnonymousPipeServerStream(PipeDirection.Out);
        writing.Write(Encoding.UTF8.GetBytes(text));
        return Keep(writing.ClientSafePipeHandle);
    }

    /// <summary>Connects two sockets, sends this text on one, and returns the other one.</summary>
    public SafeHandle Socket(string text)
    {
        using var listener = new TcpListener(System.Net.IPAddress.Loopback, 0);
        listener.Start();
        using var sending = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        sending.Connect(listener.LocalEndpoint);
        Socket receiving = listener.AcceptSocket();
        sending.Send(Encoding.UTF8.GetBytes(text));
        lock (_made)
        {
            _made.Add(receiving);
        }

        return receiving.SafeHandle;
    }

    /// <summary>Reads all of a file, pipe or socket from where it is, and closes it.</summary>
    public static async Task<string> ReadAsync(SafeFileHandle handle)
    {
        await using var stream = new FileStream(handle, FileAccess.Read, bufferSize: 0);
        using var reader = new StreamReader(stream);
        return await reader.ReadToEndAsync().Bounded();
    }

    public static async Task<string> ReadSocketAsync(SafeFileHandle handle)
    {
        using Socket socket = HandlePageTests.ToSocket(handle);
        await using var stream = new NetworkStream(socket);
        using var reader = new StreamReader(stream);
        return await reader.ReadToEndAsync().Bounded();
    }

    public void Dispose()
    {
        _made.ForEach(one => one.Dispose());
        _directory.Dispose();
    }

    private T Keep<T>(T handle)
        where T : SafeHandle
    {
        lock (_made)
        {
            _made.Add(handle);
        }

        return handle;
    }
}
