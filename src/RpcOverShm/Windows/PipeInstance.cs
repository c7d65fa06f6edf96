using System.Runtime.Versioning;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// One instance of a door's pipe, which takes one client. Its owner sees to it that one thread at a time uses it.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed class PipeInstance(KernelHandle pipe) : IDisposable
{
    private readonly PipeOperation _connect = new(bufferBytes: 0);
    private bool _isStarted;
    private int _error; // of the start

    public KernelHandle Pipe => pipe;

    /// <summary>
    /// Begins to wait for a client, on a thread that lives as long as the wait, unless that has begun.
    /// </summary>
    /// <param name="completion">The event that tells the end of the wait.</param>
    public void Start(nint completion)
    {
        if (_isStarted && !_connect.IsPending && _connect.Error == WindowsNative.ErrorOperationAborted)
        {
            _isStarted = false; // The thread that began it has ended.
        }

        if (!_isStarted)
        {
            _error = _connect.Connect(pipe, completion);
            _isStarted = true;

            // The system resets the event when an operation begins: it may have told of another one.
            _ = WindowsNative.SetEvent(completion);
        }
    }

    /// <summary>The state of the wait.</summary>
    public InstanceState State
    {
        get
        {
            if (!_isStarted || (_error == 0 && _connect.IsPending))
            {
                return InstanceState.Waiting;
            }

            // A client may come, and go, before the wait begins.
            return (_error != 0 ? _error : _connect.Error) switch
            {
                0 or WindowsNative.ErrorPipeConnected or WindowsNative.ErrorNoData => InstanceState.Connected,
                WindowsNative.ErrorOperationAborted => InstanceState.Waiting,
                _ => InstanceState.Failed,
            };
        }
    }

    /// <summary>Ends the wait. A client that has come by then is kept.</summary>
    public void Stop() => _ = _connect.TryEnd(pipe);

    /// <summary>Makes the wire of a client that has come. The instance is then of no more use.</summary>
    public Wire TakeWire()
    {
        _connect.Dispose();
        return new PipeWire(pipe, isServer: true);
    }

    public void Dispose()
    {
        pipe.Dispose();
        Stop();
        _connect.Dispose();
    }
}

/// <summary>The states of an instance.</summary>
internal enum InstanceState
{
    Waiting,
    Connected,
    Failed,
}
