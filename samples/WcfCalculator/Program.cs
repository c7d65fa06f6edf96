using System.Diagnostics;
using Google.Protobuf.WellKnownTypes;
using RpcOverShm;
using RpcOverShm.Samples;

// With an address, the program is the server. Without one it is the client, and starts the server.
if (args is ["serve", string own])
{
    return await ServerProcess.RunAsync(own);
}

string[] expected =
[
    "Result(100)",
    "Result(50)",
    "Result(882.4999999999999)",
    "Result(441.24999999999994)",
    "Equation(0 + 100 - 50 * 17.65 / 2 = 441.24999999999994)",
];
string address = $"shm://calculator-{Environment.ProcessId}";
using Process server = await ServerProcess.StartAsync(address);
var seen = new List<string>();
var isDone = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

// snippet: client
// WCF: new DuplexChannelFactory<ICalculatorDuplex>(new InstanceContext(new CallbackHandler()), binding, address)
var options = new ShmChannelOptions();
options.Callbacks.Services.Add(CalculatorDuplexCallback.BindService(new CallbackHandler(Show)));

// WCF: [CallbackBehavior(ConcurrencyMode = Single)], its default: one callback after the other.
options.Callbacks.Limits.MaxConcurrentCallsPerConnection = 1;
using var channel = ShmChannel.ForAddress(address, options);

// WCF: the operations have IsOneWay = true.
var client = new CalculatorDuplex.CalculatorDuplexClient(channel.CreateOneWayInvoker(ServerProcess.Report));
// end snippet

// snippet: calls
client.AddTo(new Operand { N = 100 });
client.SubtractFrom(new Operand { N = 50 });
client.MultiplyBy(new Operand { N = 17.65 });
client.DivideBy(new Operand { N = 2 });
client.Clear(new Empty());
// end snippet

// The calls have returned, perhaps before the first method has begun. WCF's sample waits for a key here.
await isDone.Task.WaitAsync(TimeSpan.FromSeconds(30));
server.StandardInput.Close();
await server.WaitForExitAsync();
return seen.SequenceEqual(expected) && server.ExitCode == 0 ? 0 : 1;

// Callbacks come one after the other, so no lock is needed.
void Show(string line)
{
    Console.WriteLine(line);
    seen.Add(line);
    if (seen.Count == expected.Length)
    {
        isDone.SetResult();
    }
}
