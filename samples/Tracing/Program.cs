using System.Diagnostics;
using System.Text;
using RpcOverShm;
using RpcOverShm.Samples;

// With an address, the program is the server. Without one it is the client, and starts the server.
if (args is ["serve", string own, string exportTo])
{
    return await ServerProcess.RunAsync(own, exportTo);
}

// Windows has other encodings, and the unit of the times is no ASCII character.
Console.OutputEncoding = Encoding.UTF8;
string address = $"shm://tracing-{Environment.ProcessId}";
using var receiver = new OtlpReceiver();
using (Process server = await ServerProcess.StartAsync(address, receiver.Endpoint))
{
    using (new Telemetry("client", receiver.Endpoint))
    {
        var options = new ShmChannelOptions();
        options.Callbacks.Services.Add(CalculatorDuplexCallback.BindService(new TotalView()));
        using var channel = ShmChannel.ForAddress(address, options);
        new CalculatorDuplex.CalculatorDuplexClient(channel).AddTo(new Operand { N = 100 });
    }

    // What both processes have traced was exported when their providers were disposed.
    server.StandardInput.Close();
    await server.WaitForExitAsync();
}

string[] tree = [.. SpanTree.Print(await receiver.StopAsync())];
foreach (string line in tree)
{
    Console.WriteLine(line);
}

string[] expected =
[
    "CLIENT rpcovershm.samples.CalculatorDuplex/AddTo OK, in client",
    "  SERVER rpcovershm.samples.CalculatorDuplex/AddTo OK, in server",
    "    CLIENT rpcovershm.samples.CalculatorDuplexCallback/Result OK, in server",
    "      SERVER rpcovershm.samples.CalculatorDuplexCallback/Result OK, in client",
];
if (tree.Select(line => line.Split(':')[0]).SequenceEqual(expected))
{
    return 0;
}

Console.WriteLine("This is not the expected tree:");
Console.WriteLine(string.Join('\n', expected));
return 1;
