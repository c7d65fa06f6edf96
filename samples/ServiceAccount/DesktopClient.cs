using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>The desktop program: trusts the account of the service, and makes one call.</summary>
internal static class DesktopClient
{
    /// <summary>The exit code of a client that the service refused.</summary>
    public const int Refused = 3;

    public static async Task<int> RunAsync(string directory, string serviceUser)
    {
        // snippet: client
        var options = new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = directory, TrustedServerUsers = { serviceUser } },
        };
        using ShmChannel channel = ShmChannel.ForAddress(Service.Address, options);
        // end snippet
        try
        {
            HelloReply reply = await new Greeter.GreeterClient(channel).SayHelloAsync(
                new HelloRequest { Name = "desktop" });
            Console.WriteLine(reply.Message);
            return 0;
        }
        catch (RpcException exception) when (exception.StatusCode == StatusCode.PermissionDenied)
        {
            Console.WriteLine($"{exception.StatusCode}: {exception.Status.Detail}");
            return Refused;
        }
    }
}
