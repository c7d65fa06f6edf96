namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>The ways to make a call.</summary>
internal enum CallShape
{
    Blocking,
    Unary,
    ServerStream,
    ClientStream,
    Duplex,
}
