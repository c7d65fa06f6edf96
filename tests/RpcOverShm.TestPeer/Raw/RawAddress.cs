using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Testing;
using RpcOverShm.Windows;

namespace RpcOverShm.TestPeer.Raw;

/// <summary>The places at which clients and servers meet: paths of sockets; on Windows names of pipes.</summary>
internal static class RawAddress
{
    private const string PipeRoot = @"\\.\pipe";

    /// <summary>Returns the place that an address of this directory stands for.</summary>
    public static string PlaceOf(this TestDirectory directory, string name) =>
        RendezvousAddress.Parse(directory.AddressOf(name), directory.Option).Place;

    /// <summary>
    /// Returns the names of the files in a directory, or on Windows the place if a server listens there.
    /// </summary>
    public static string[] FileNamesAt(this TestDirectory directory, string place) =>
        !OperatingSystem.IsWindows() ? directory.FileNames : HasListener(place) ? [place] : [];

    /// <summary>Returns an address that stands for a place.</summary>
    public static RendezvousAddress OfPlace(string place)
    {
        string path = OperatingSystem.IsWindows() ? place[PipeRoot.Length..].Replace('\\', '/') : place;
        return RendezvousAddress.Parse("shm://" + path, runtimeDirectory: null);
    }

    [SupportedOSPlatform("windows")]
    private static bool HasListener(string pipe) => WindowsNative.WaitNamedPipeW(pipe, milliseconds: 1) != 0;
}
