using RpcOverShm.Diagnostics;

namespace RpcOverShm.TestPeer;

/// <summary>
/// The second process of the tests. Reads one command per line from standard input and writes one line for each: "ok"
/// and the result, or "error" and the reason. It ends when its standard input ends or its parent dies.
/// </summary>
internal static class Program
{
    private static async Task<int> Main(string[] arguments)
    {
        // Before any code of the library runs, because the library reads the switch once.
        if (arguments is ["--crash-at", string point, ..])
        {
            AppContext.SetData(CrashPoint.Switch, point);
        }

        ParentWatch.Start();
        await using var commands = new PeerCommands();
        while (await Console.In.ReadLineAsync() is { } line)
        {
            string reply;
            try
            {
                reply = ("ok " + await commands.RunAsync(line.Split(' '))).TrimEnd();
            }
            catch (Exception exception)
            {
                reply = $"error {exception.GetType().Name} {exception.Message}".ReplaceLineEndings(" ");
            }

            await Console.Out.WriteLineAsync(reply);
        }

        return 0;
    }
}
