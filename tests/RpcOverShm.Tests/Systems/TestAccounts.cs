using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Systems;

/// <summary>Accounts as this system has them. They need not exist.</summary>
internal static class TestAccounts
{
    public static Account Own => HostSystem.Current.OwnUser;

    /// <summary>The one who can read any process's memory.</summary>
    public static Account AllPowerful => OperatingSystem.IsWindows() ? new Account("S-1-5-18") : new Account(0);

    /// <summary>Returns the account of a number, which is the last one of a SID on Windows.</summary>
    public static Account Of(uint number) =>
        OperatingSystem.IsWindows() ? new Account($"S-1-5-21-1-2-3-{number}") : new Account(number);
}
