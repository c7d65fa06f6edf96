using System.Reflection;
using System.Runtime.CompilerServices;

namespace Grpc.Core.Api.Tests.Surface;

/// <summary>What was compiled against the package finds the stand-in only if the two have one identity.</summary>
public class AssemblyIdentityTests
{
    private static readonly Assembly s_standIn = typeof(Metadata).Assembly;

    [Test]
    public void StandIn_ByFullName_IsThePackagesAssembly()
    {
        Assert.That(
            s_standIn.FullName,
            Is.EqualTo("Grpc.Core.Api, Version=2.0.0.0, Culture=neutral, PublicKeyToken=d754f35622e28bad"));
    }

    [Test]
    public void StandIn_FileVersion_IsThePackages()
    {
        var version = s_standIn.GetCustomAttribute<AssemblyFileVersionAttribute>()!.Version;

        Assert.That(version, Is.EqualTo(VersionInfo.CurrentAssemblyFileVersion));
    }

    [Test]
    public void StandIn_PackageVersion_IsThePackages()
    {
        var version = s_standIn.GetCustomAttribute<AssemblyInformationalVersionAttribute>()!.InformationalVersion;

        // A build from a repository appends the commit.
        Assert.That(version.Split('+')[0], Is.EqualTo(VersionInfo.CurrentVersion));
    }

    [Test]
    public void StandIn_Internals_AreGrantedToGrpcCoreByItsFullKey()
    {
        var grpcCore = typeof(Channel).Assembly.GetName();
        var key = Convert.ToHexStringLower(grpcCore.GetPublicKey()!);

        var granted = s_standIn.GetCustomAttributes<InternalsVisibleToAttribute>().Select(grant => grant.AssemblyName);

        Assert.That(granted, Has.Member($"Grpc.Core,PublicKey={key}"));
    }
}
