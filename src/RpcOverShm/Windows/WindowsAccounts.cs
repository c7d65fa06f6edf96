using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Principal;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>Users and groups by their SIDs. The class has no state but this process's user.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe class WindowsAccounts
{
    private static readonly Lazy<Account> s_own =
        new(static () => UserOfToken(TokenOf(KernelHandle.OwnProcess)), LazyThreadSafetyMode.PublicationOnly);

    private static readonly Account s_system =
        new(new SecurityIdentifier(WellKnownSidType.LocalSystemSid, domainSid: null).Value);

    /// <summary>The user of this process, also while the thread acts for another one.</summary>
    public static Account Own => s_own.Value;

    /// <summary>The system's own user, who may read the memory of each process.</summary>
    public static Account LocalSystem => s_system;

    /// <summary>The account of a SID of the system.</summary>
    public static Account OfSid(nint sid) => new(new SecurityIdentifier(sid).Value);

    /// <summary>Returns the user of a process.</summary>
    /// <exception cref="IOException">The system does not tell.</exception>
    public static Account UserOf(KernelHandle process) => UserOfToken(TokenOf(process));

    /// <summary>Returns whether the user of a process is a member of a group, as its token says.</summary>
    /// <exception cref="IOException">The system does not tell.</exception>
    public static bool IsMember(KernelHandle process, Account group)
    {
        using WindowsIdentity identity = Read(TokenOf(process));
        return identity.Groups is { } groups && groups.Any(one => new Account(one.Value) == group);
    }

    /// <summary>Returns the user of the client that has sent what was last read from a pipe.</summary>
    /// <exception cref="IOException">The system does not tell.</exception>
    public static Account UserOfClient(KernelHandle pipe)
    {
        if (WindowsNative.ImpersonateNamedPipeClient(pipe) == 0)
        {
            throw new IOException($"The system does not say who sent the hello: {WindowsNative.LastErrorText()}.");
        }

        nint token;
        int isOpen;
        int error;
        try
        {
            isOpen = WindowsNative.OpenThreadToken(
                WindowsNative.CurrentThread, WindowsNative.TokenQuery, asSelf: 1, &token);
            error = Marshal.GetLastPInvokeError();
        }
        finally
        {
            if (WindowsNative.RevertToSelf() == 0)
            {
                // The thread would go on with the rights of a stranger.
                Environment.FailFast($"RevertToSelf failed: {WindowsNative.LastErrorText()}.");
            }
        }

        return isOpen != 0
            ? UserOfToken(new KernelHandle(token))
            : throw new IOException($"The system does not say who sent the hello: {WindowsNative.ErrorText(error)}.");
    }

    /// <summary>Returns the account of a name or SID; null if there is none. May block.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public static Account? Find(string nameOrSid)
    {
        try
        {
            return nameOrSid.StartsWith("S-1-", StringComparison.OrdinalIgnoreCase)
                ? new Account(new SecurityIdentifier(nameOrSid).Value)
                : new Account(new NTAccount(nameOrSid).Translate(typeof(SecurityIdentifier)).Value);
        }
        catch (Exception exception) when (exception is IdentityNotMappedException or ArgumentException)
        {
            return null;
        }
        catch (SystemException exception)
        {
            throw new IOException(
                $"The system's name service failed for '{nameOrSid}': {exception.Message}", exception);
        }
    }

    /// <summary>Returns the name of an account; null if the system has none. May block.</summary>
    /// <exception cref="IOException">The system's name service failed.</exception>
    public static string? NameOf(Account account)
    {
        try
        {
            return new SecurityIdentifier(account.ToString()).Translate(typeof(NTAccount)).Value;
        }
        catch (Exception exception) when (exception is IdentityNotMappedException or ArgumentException)
        {
            return null;
        }
        catch (SystemException exception)
        {
            throw new IOException($"The system's name service failed for {account}: {exception.Message}", exception);
        }
    }

    private static KernelHandle TokenOf(KernelHandle process)
    {
        nint token;
        return WindowsNative.OpenProcessToken(process, WindowsNative.TokenQuery, &token) != 0
            ? new KernelHandle(token)
            : throw new IOException(
                $"The system does not name the user of a process: {WindowsNative.LastErrorText()}.");
    }

    private static Account UserOfToken(KernelHandle token)
    {
        using WindowsIdentity identity = Read(token);
        return identity.User is { } user
            ? new Account(user.Value)
            : throw new IOException("The system does not name the user of a process: its token has none.");
    }

    private static WindowsIdentity Read(KernelHandle token)
    {
        using (token)
        {
            return new WindowsIdentity(token.DangerousGetHandle());
        }
    }
}
