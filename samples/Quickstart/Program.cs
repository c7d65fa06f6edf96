using RpcOverShm.Samples;

// The same program is both processes: without arguments the client, which starts itself again as the server.
return args switch
{
    [] => await Demonstration.RunAsync(),
    ["serve", string address] => await TickerServer.RunAsync(address),
    _ => Usage(),
};

static int Usage()
{
    Console.Error.WriteLine("Usage: Quickstart");
    return 2;
}
