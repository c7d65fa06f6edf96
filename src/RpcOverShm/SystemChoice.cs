using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using RpcOverShm.Linux;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm;

/// <summary>The only place that asks which system this is. The rooms below get theirs from here.</summary>
internal static class SystemChoice
{
    [ModuleInitializer]
    [SuppressMessage(
        "Usage", "CA2255", Justification = "Tests and tools enter the assembly at any room, which needs the system.")]
    internal static void Choose() => HostSystem.Choose(
        OperatingSystem.IsLinux() && LinuxSystem.IsProcessorSupported ? new LinuxSystem()
        : OperatingSystem.IsWindows() && Environment.Is64BitProcess ? new WindowsSystem()
        : null);
}
