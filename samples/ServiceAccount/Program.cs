using RpcOverShm.Samples;

// Without arguments, the program demonstrates. It starts itself again as the service and as its clients.
return args switch
{
    [] when OperatingSystem.IsWindows() => NotOnWindows(),
    [] => await Demonstration.RunAsync(),
    ["serve", string directory, string allowedUser] => await Service.RunAsync(directory, allowedUser),
    ["call", string directory, string serviceUser] => await DesktopClient.RunAsync(directory, serviceUser),
    _ => Usage(),
};

static int NotOnWindows()
{
    Console.Error.WriteLine("ServiceAccount makes directories and processes of other users. Run it on Linux.");
    return 2;
}

static int Usage()
{
    Console.Error.WriteLine("Usage: ServiceAccount");
    return 2;
}
