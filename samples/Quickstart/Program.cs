using System.Text;
using RpcOverShm.Samples;

// Windows has other encodings, and the unit of the times is no ASCII character.
Console.OutputEncoding = Encoding.UTF8;

// Without arguments, the program is the client. The client starts the program again as the server, or another build of
// it: for another processor, the command is an emulator and that build.
return args switch
{
    [] => await Demonstration.RunAsync(ServerProcess.ThisProgram()),
    ["with", .. { Length: > 0 } command] => await Demonstration.RunAsync(command),
    ["serve", string address] => await TickerServer.RunAsync(address),
    _ => Usage(),
};

static int Usage()
{
    Console.Error.WriteLine("Usage: Quickstart [with COMMAND-OF-THE-SERVER]");
    return 2;
}
