namespace Grpc.Core;

public class VerifyPeerContext
{
    internal VerifyPeerContext(string targetName, string peerPem)
    {
        TargetName = targetName;
        PeerPem = peerPem;
    }

    public string TargetName { get; }

    public string PeerPem { get; }
}
