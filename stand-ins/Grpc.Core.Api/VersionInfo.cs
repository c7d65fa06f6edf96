namespace Grpc.Core;

/// <summary>The version of the package that this assembly stands for.</summary>
public static class VersionInfo
{
    public const string CurrentVersion = "2.80.0";
    public const string CurrentAssemblyVersion = "2.0.0.0";
    public const string CurrentAssemblyFileVersion = "2.66.0.0";
}
