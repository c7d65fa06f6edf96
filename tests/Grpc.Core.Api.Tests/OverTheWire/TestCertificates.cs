using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Grpc.Core.Api.Tests.OverTheWire;

/// <summary>Certificates that live as long as a test: nothing secret is kept, and nothing expires.</summary>
internal static class TestCertificates
{
    /// <summary>A certificate that vouches for itself, with its key.</summary>
    internal static KeyCertificatePair Create(string name)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, critical: true));
        var now = DateTimeOffset.UtcNow;
        using var certificate = request.CreateSelfSigned(now.AddDays(-1), now.AddDays(1));
        return new KeyCertificatePair(certificate.ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem());
    }
}
