namespace RpcOverShm.Explorer.Model;

/// <summary>
/// A step of a role that another role can see or influence; the search chooses when it happens. Buffered stores are not
/// among these steps, because only their drain is visible.
/// </summary>
internal readonly record struct Op(OpKind Kind, int Location = -1, long Value = 0, int Other = -1, long OtherValue = 0);

internal enum OpKind
{
    /// <summary>A load that later loads cannot overtake.</summary>
    Read,

    /// <summary>A load that later loads may overtake: only mutants make it.</summary>
    ReadPlain,

    /// <summary>A store that completes before any later step: it waits for the store buffer.</summary>
    WriteFenced,

    /// <summary>An atomic addition with a full fence. Its result is the new value.</summary>
    AddFenced,

    /// <summary>An atomic store into a word that is 0, with a full fence. Its result is the old value.</summary>
    SetIfZero,

    /// <summary>
    /// A sleep while one or two words have these low halves. The comparison reads memory and goes to sleep in one step,
    /// but does not wait for the store buffer: no rule may rely on a fence in the kernel.
    /// </summary>
    Sleep,

    /// <summary>A wake-up of all sleepers on a word.</summary>
    Wake,

    /// <summary>A wait for the end of the peer's socket: the peer has died or has closed it.</summary>
    AwaitPeerEnd,

    /// <summary>The end of the preparation, which runs before the search and in a fixed order.</summary>
    Ready,

    /// <summary>The end of the role, with its result.</summary>
    Done,

    /// <summary>The end of the role with a violation.</summary>
    Failed,
}

/// <summary>A store in a role's store buffer.</summary>
internal readonly record struct BufferedStore(int Location, long Value, bool IsRelease);
