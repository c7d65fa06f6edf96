using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Grpc.Core;

namespace RpcOverShm.Testing;

/// <summary>
/// Creates certificates for the duration of a test, so that no key is stored and no certificate expires.
/// </summary>
public static class TestCertificates
{
    /// <summary>Creates a self-signed certificate and its key.</summary>
    public static KeyCertificatePair Create(string name)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest($"CN={name}", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName(name);
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, critical: true));
        DateTimeOffset now = DateTimeOffset.UtcNow;
        using X509Certificate2 certificate = request.CreateSelfSigned(now.AddDays(-1), now.AddDays(1));
        return new KeyCertificatePair(certificate.ExportCertificatePem(), key.ExportPkcs8PrivateKeyPem());
    }
}
