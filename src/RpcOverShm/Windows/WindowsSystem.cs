using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Microsoft.Extensions.Logging;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// Windows: sections without names for memory, semaphores to sleep on, a named pipe for the rest.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class WindowsSystem : HostSystem
{
    // The memory, and the semaphores for data and for space.
    private const int Handles = 3;

    // What the system allows a process, unless its memory ends before.
    private const long MostHandles = 1 << 24;

    /// <summary>The SID of this process's user.</summary>
    public static string OwnSid => WindowsAccounts.Own.ToString();

    public override int HandlesOfHello => Handles;

    // A value says nothing in the receiver's process: the prefix of the handshake has no successor yet.
    public override bool PassesHandlesLater => false;

    public override long MaxMappings => long.MaxValue;

    public override long MaxHandles => MostHandles;

    public override string MaxMappingsName => "the mappings of a process";

    public override string HandlesName => "handles";

    public override string MaxHandlesName => "the handles of a process";

    public override long ThreadTime => WindowsThreads.OwnTime;

    public override int CurrentThreadId => WindowsNative.GetCurrentThreadId();

    public override Account OwnUser => WindowsAccounts.Own;

    public override string AccountsAllowed => @"a name, such as 'DOMAIN\name', or a SID, such as 'S-1-5-32-545'";

    public override string PathsAllowed => PipeAddress.PathsAllowed;

    public override MappedMemory CreateMemory(long sizeBytes, long firstBytes) => SectionMemory.Create(sizeBytes);

    public override MappedMemory OpenMemory(SafeHandle handle, long sizeBytes, long firstBytes) =>
        SectionMemory.Open(handle, sizeBytes);

    public override Signal CreateSignal() => new SemaphoreSignal();

    public override void WaitPrivate(uint* address, uint expected, TimeSpan timeout) => _ = WindowsNative.WaitOnAddress(
        address, &expected, sizeof(uint), WindowsNative.Milliseconds(timeout));

    public override void WakePrivate(uint* address) => WindowsNative.WakeByAddressAll(address);

    public override EventPoll? TryCreatePoll(bool isDoor) => isDoor ? DoorPoll.TryCreate() : PortPoll.TryCreate();

    public override long TimeOfThread(int threadId) => WindowsThreads.TimeOf(threadId);

    // The system does not tell.
    public override bool IsThreadBlocked(int threadId) => true;

    public override void FenceProcess() => ProcessFence.Pass();

    public override bool IsAllPowerful(Account user) => user == WindowsAccounts.LocalSystem;

    public override string AllPowerfulName => "LocalSystem";

    public override string IdentitySource => "NamedPipe";

    public override Account? FindUser(string name) => WindowsAccounts.Find(name);

    public override Account? FindGroup(string name) => WindowsAccounts.Find(name);

    public override string? NameOf(Account user) => WindowsAccounts.NameOf(user);

    public override void CheckRuntimeDirectory(string? directory, string option) =>
        PipeAddress.CheckRuntimeDirectory(directory, option);

    public override RendezvousAddress AddressOfName(string text, string name, string? runtimeDirectory) =>
        PipeAddress.OfName(text, name);

    public override RendezvousAddress AddressOfPath(string text, string path) => PipeAddress.OfPath(text, path);

    public override Door Listen(RendezvousAddress address, AccessPolicy access, ILogger logger) =>
        PipeDoor.Listen((PipeAddress)address, access);

    public override Task<Wire> ConnectAsync(
        RendezvousAddress address, ILogger logger, CancellationToken cancellationToken) =>
        PipeCaller.ConnectAsync((PipeAddress)address, cancellationToken);
}
