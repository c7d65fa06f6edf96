namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>What a handler does in the end.</summary>
internal enum CallAnswer
{
    /// <summary>Ends well.</summary>
    Success,

    /// <summary>Ends well some time later, whatever its token says.</summary>
    LateSuccess,

    /// <summary>Throws an RpcException.</summary>
    Refusal,

    /// <summary>Throws another exception.</summary>
    Fault,

    /// <summary>Throws another exception some time later, whatever its token says.</summary>
    LateFault,

    /// <summary>Waits for its token.</summary>
    Hold,
}
