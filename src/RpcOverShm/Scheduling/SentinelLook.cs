namespace RpcOverShm.Scheduling;

/// <summary>When the sentinel is to look again.</summary>
internal enum SentinelLook
{
    /// <summary>Not any more, until it is asked to.</summary>
    Done,

    /// <summary>In a few milliseconds.</summary>
    Later,

    /// <summary>In a millisecond: user code may be running.</summary>
    Soon,
}
