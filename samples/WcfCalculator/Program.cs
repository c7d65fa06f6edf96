using System.Diagnostics;
using Google.Protobuf.WellKnownTypes;
using RpcOverShm;
using RpcOverShm.Samples;

// With an address, the program is the server. Without one it is the client, and starts the server.
if (args is ["serve", string own])
{
    return await ServerProcess.RunAsync(own);
}

string address = $"shm://calculator-{Environment.ProcessId}";
using Process server = await ServerProcess.StartAsync(address);
var seen = new List<string>();
int thread = Environment.CurrentManagedThreadId;

// snippet: client
// WCF: new DuplexChannelFactory<ICalculatorDuplex>(new InstanceContext(new CallbackHandler()), binding, address)
var options = new ShmChannelOptions();
options.CallbackServices.Add(CalculatorDuplexCallback.BindService(new CallbackHandler(Show)));
using var channel = ShmChannel.ForAddress(address, options);
var client = new CalculatorDuplex.CalculatorDuplexClient(channel);

client.AddTo(new Operand { N = 100 });
client.SubtractFrom(new Operand { N = 50 });
client.MultiplyBy(new Operand { N = 17.65 });
client.DivideBy(new Operand { N = 2 });
client.Clear(new Empty());
// end snippet

server.StandardInput.Close();
await server.WaitForExitAsync();
string[] expected =
[
    "Equals(100)",
    "Equals(50)",
    "Equals(882.5)",
    "Equals(441.25)",
    "Equation(0 + 100 - 50 * 17.65 / 2 = 441.25)",
];
return seen.SequenceEqual(expected) && server.ExitCode == 0 ? 0 : 1;

void Show(string line)
{
    // The client blocks in its call, and runs the callback on the same thread: no lock is needed.
    Console.WriteLine($"{line}, on the thread that waits: {Environment.CurrentManagedThreadId == thread}");
    seen.Add(line);
}
