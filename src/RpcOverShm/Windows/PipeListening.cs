using System.ComponentModel;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// The instances of a door's pipe that wait for clients. A client that finds none tries again, so a few wait at a time.
/// A new one is made before one is handed over: the name stays this server's. Thread-safe.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class PipeListening : Watchable
{
    private const int MostWaiting = 16;

    // Room for the longest message of the handshake. It also limits the doorbells that a peer leaves unread.
    private const uint BufferBytes = 4096 + 512;

    private readonly string _name;
    private readonly AccessDescriptor _access;
    private readonly UninterruptibleLock _lock = new();
    private readonly List<PipeInstance> _instances = [];
    private bool _isTold; // a poll has told of clients that were not taken yet
    private bool _isEnded;

    /// <exception cref="Win32Exception">The system refused it, perhaps because the name is taken.</exception>
    public PipeListening(string name, AccessDescriptor access)
    {
        _name = name;
        _access = access;
        try
        {
            _instances.Add(Create(WindowsNative.FlagFirstInstance));
            while (_instances.Count < MostWaiting)
            {
                _instances.Add(Create(0));
            }
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    public override SafeHandle Handle
    {
        get
        {
            using (_lock.Enter())
            {
                ObjectDisposedException.ThrowIf(_isEnded, this);
                return _instances[0].Pipe;
            }
        }
    }

    public override bool IsReadable(int timeoutMilliseconds)
    {
        using (_lock.Enter())
        {
            ObjectDisposedException.ThrowIf(_isEnded, this);
            return HasClient;
        }
    }

    private bool HasClient => _instances.Exists(static one => one.State != InstanceState.Waiting);

    /// <summary>
    /// Begins to wait for clients on all instances, on a thread that lives on. Returns whether there is a client that
    /// was not told since <see cref="TryTake"/> has found none.
    /// </summary>
    /// <param name="completion">The event that tells of a client.</param>
    public bool TryTell(nint completion)
    {
        using (_lock.Enter())
        {
            if (_isEnded)
            {
                return false;
            }

            foreach (PipeInstance instance in _instances)
            {
                instance.Start(completion);
            }

            bool isNew = !_isTold && HasClient;
            _isTold |= isNew;
            return isNew;
        }
    }

    /// <summary>Forgets what was told, for another poll.</summary>
    public void ForgetTold()
    {
        using (_lock.Enter())
        {
            _isTold = false;
        }
    }

    /// <summary>Takes a client that has come; null if none has.</summary>
    /// <exception cref="Win32Exception">The system makes no instance in the place of the client's.</exception>
    public Wire? TryTake()
    {
        using (_lock.Enter())
        {
            int index;
            while ((index = _instances.FindIndex(static one => one.State != InstanceState.Waiting)) >= 0)
            {
                PipeInstance next = Create(0);
                PipeInstance taken = _instances[index];
                _instances[index] = next;
                if (taken.State == InstanceState.Connected)
                {
                    return taken.TakeWire();
                }

                taken.Dispose();
            }

            _isTold = false;
            return null;
        }
    }

    /// <summary>Ends the waits, whose event may be closed then. Clients that have come by then are kept.</summary>
    public void Stop()
    {
        using (_lock.Enter())
        {
            _instances.ForEach(static one => one.Stop());
        }
    }

    public override void Dispose()
    {
        using (_lock.Enter())
        {
            _isEnded = true;
            _instances.ForEach(static one => one.Dispose());
            _instances.Clear();
        }
    }

    private PipeInstance Create(uint flags)
    {
        WindowsNative.SecurityAttributes attributes = _access.Attributes;
        var pipe = new KernelHandle(WindowsNative.CreateNamedPipeW(
            _name,
            WindowsNative.PipeDuplex | WindowsNative.FlagOverlapped | flags,
            WindowsNative.PipeRejectRemote,
            WindowsNative.PipeUnlimitedInstances,
            BufferBytes,
            BufferBytes,
            defaultTimeout: 0,
            &attributes));
        int error = Marshal.GetLastPInvokeError();
        GC.KeepAlive(_access);
        return pipe.IsInvalid
            ? throw new Win32Exception(error, WindowsNative.ErrorText(error))
            : new PipeInstance(pipe);
    }
}
