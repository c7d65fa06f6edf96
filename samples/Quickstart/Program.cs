using RpcOverShm.Samples;

// Without arguments, the program is the client. The client starts the program again as the server.
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
