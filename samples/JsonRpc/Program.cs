using System.Diagnostics;
using RpcOverShm;
using RpcOverShm.Samples;
using StreamJsonRpc;

// With an address, the program is the client. Without one it is the server, and starts the client.
if (args is ["call", string server])
{
    return await CalculatorClient.RunAsync(server);
}

// The server listens before the client starts, so the client finds it at the first try.
string address = $"shm://json-rpc-{Environment.ProcessId}";
await using var listener = new ShmStreamListener(address);
listener.Start();
using Process client = Process.Start(Environment.ProcessPath!, ["call", address]);
using var longestStart = new CancellationTokenSource(TimeSpan.FromSeconds(30));

// snippet: server
await using ShmStream stream = await listener.AcceptAsync(longestStart.Token);
using var rpc = new JsonRpc(stream);
rpc.AddLocalRpcTarget(new Calculator(rpc));
rpc.StartListening();
await rpc.Completion;
// end snippet
await client.WaitForExitAsync();
return client.ExitCode;
