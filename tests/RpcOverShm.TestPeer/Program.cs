using RpcOverShm.Diagnostics;

namespace RpcOverShm.TestPeer;

/// <summary>
/// The second process of the tests. Reads one command per line from standard input and writes one line for each: "ok"
/// and the result, or "error" and the reason. It ends when its standard input ends or its parent dies.
/// </summary>
internal static class Program
{
    // Commands are read on the main thread: a thread of the pool that waits for them would be missing in tests of it.
    private static int Main(string[] arguments)
    {
        // Before any code of the library runs, because the library reads the switch once.
        if (arguments is ["--crash-at", string point, ..])
        {
            AppContext.SetData(CrashPoint.Switch, point);
        }

        ParentWatch.Start();
        var commands = new PeerCommands();
        while (Console.In.ReadLine() is { } line)
        {
            string reply;
            try
            {
                reply = line == "reset"
                    ? Reset(ref commands)
                    : ("ok " + commands.RunAsync(line.Split(' ')).GetAwaiter().GetResult()).TrimEnd();
            }
            catch (Exception exception)
            {
                reply = $"error {exception.GetType().Name} {exception.Message}".ReplaceLineEndings(" ");
            }

            Console.Out.WriteLine(reply);
        }

        End(commands);
        return 0;
    }

    private static string Reset(ref PeerCommands commands)
    {
        End(commands);
        commands = new PeerCommands();
        return "ok done";
    }

    private static void End(PeerCommands commands) => commands.DisposeAsync().AsTask().GetAwaiter().GetResult();
}
