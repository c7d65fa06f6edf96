namespace Grpc.Core;

public delegate bool VerifyPeerCallback(VerifyPeerContext context);
