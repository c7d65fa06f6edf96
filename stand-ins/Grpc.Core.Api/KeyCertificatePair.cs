using Grpc.Core.Utils;

namespace Grpc.Core;

public sealed class KeyCertificatePair
{
    public KeyCertificatePair(string certificateChain, string privateKey)
    {
        CertificateChain = GrpcPreconditions.CheckNotNull(certificateChain, nameof(certificateChain));
        PrivateKey = GrpcPreconditions.CheckNotNull(privateKey, nameof(privateKey));
    }

    public string CertificateChain { get; }

    public string PrivateKey { get; }
}
