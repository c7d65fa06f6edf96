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
bool isOnThread = true;

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
    "Result(100)",
    "Result(50)",
    "Result(882.4999999999999)",
    "Result(441.24999999999994)",
    "Equation(0 + 100 - 50 * 17.65 / 2 = 441.24999999999994)",
];
return seen.SequenceEqual(expected) && isOnThread && server.ExitCode == 0 ? 0 : 1;

// The client blocks in its call and runs the callback on the same thread, so no lock is needed.
void Show(string line)
{
    Console.WriteLine(line);
    seen.Add(line);
    isOnThread &= Environment.CurrentManagedThreadId == thread;
}
