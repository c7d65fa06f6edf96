using System.Diagnostics;

namespace RpcOverShm.Samples;

/// <summary>
/// Shows a service account that serves a desktop user, and a third user whom it refuses. Only root can start processes
/// of other users; without root, service and client run as the user who started this program.
/// </summary>
internal static class Demonstration
{
    // Accounts need no entry in the user database. A real program names them: AllowedUsers = { "alice" }.
    private const string ServiceAccount = "12340";
    private const string DesktopUser = "12350";
    private const string ThirdUser = "12360";

    public static async Task<int> RunAsync()
    {
        DirectoryInfo root = Directory.CreateTempSubdirectory("rpcovershm-service-account-");
        try
        {
            return AccountProcess.OwnUser() == "0"
                ? await RunAsRootAsync(root.FullName)
                : await RunAsUserAsync(root.FullName, AccountProcess.OwnUser());
        }
        finally
        {
            root.Delete(recursive: true);
        }
    }

    private static async Task<int> RunAsRootAsync(string root)
    {
        // An installation copies the program to where every user can read it. A service manager makes the directory: it
        // belongs to the account, and others may search it (systemd: RuntimeDirectory= and RuntimeDirectoryMode=0711).
        string programs = Path.Combine(root, "programs");
        string run = Path.Combine(root, "run");
        bool isInstalled = await AccountProcess.RunAsync("chmod", "0711", root) == 0
            && await AccountProcess.RunAsync("cp", "-rL", AppContext.BaseDirectory, programs) == 0
            && await AccountProcess.RunAsync("chmod", "-R", "a+rX", programs) == 0
            && await AccountProcess.RunAsync(
                "install", "-d", "-m", "0711", "-o", ServiceAccount, "-g", ServiceAccount, run) == 0;
        if (!isInstalled)
        {
            return 1;
        }

        using Process service = await StartServiceAsync(programs, ServiceAccount, run, DesktopUser);
        int desktop = await CallAsync("the desktop user", programs, DesktopUser, run, ServiceAccount);
        int third = await CallAsync("a third user", programs, ThirdUser, run, ServiceAccount);
        service.StandardInput.Close();
        int end = await AccountProcess.EndAsync(service);
        return desktop == 0 && third == DesktopClient.Refused && end == 0 ? 0 : 1;
    }

    private static async Task<int> RunAsUserAsync(string root, string user)
    {
        Console.WriteLine(
            "Only root can start processes of other users. Here the service and its client run as the same user; "
            + "start this program as root to see another user let in, and a third one refused.");
        string run = Path.Combine(root, "run");
        using Process service = await StartServiceAsync(AppContext.BaseDirectory, account: null, run, user);
        int call = await CallAsync("the same user", AppContext.BaseDirectory, account: null, run, user);
        service.StandardInput.Close();
        int end = await AccountProcess.EndAsync(service);
        return call == 0 && end == 0 ? 0 : 1;
    }

    private static async Task<Process> StartServiceAsync(
        string programs, string? account, string directory, string allowedUser)
    {
        Process service = AccountProcess.Start(programs, account, "serve", directory, allowedUser);
        string? line = await AccountProcess.ReadLineAsync(service);
        return line == Service.ReadyLine
            ? service
            : throw new InvalidOperationException($"The service said '{line}' instead of '{Service.ReadyLine}'.");
    }

    private static async Task<int> CallAsync(
        string who, string programs, string? account, string directory, string serviceUser)
    {
        using Process client = AccountProcess.Start(programs, account, "call", directory, serviceUser);
        Console.WriteLine($"{who}:  {await AccountProcess.ReadLineAsync(client)}");
        return await AccountProcess.EndAsync(client);
    }
}
