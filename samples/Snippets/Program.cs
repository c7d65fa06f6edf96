using RpcOverShm.Samples;

// Runs the code that README and the pages in docs/ quote: each page has a class of its name. A failure ends the program
// with its exception, and so with an exit code other than 0.
string prefix = $"shm://snippets-{Environment.ProcessId}";
(string Page, Func<string, Task> RunAsync)[] pages =
[
    ("migrating from WCF, calls", MigratingFromWcfCalls.RunAsync),
    ("migrating from WCF, sessions", MigratingFromWcfSessions.RunAsync),
    ("migrating from WCF, messages", MigratingFromWcfMessages.RunAsync),
    ("migrating from WCF, time-outs", MigratingFromWcfTimeouts.RunAsync),
    ("migrating from WCF, instances", MigratingFromWcfInstances.RunAsync),
    ("migrating from WCF, one-way calls", MigratingFromWcfOneWay.RunAsync),
    ("migrating from WCF, callbacks", MigratingFromWcfCallbacks.RunAsync),
    ("migrating from WCF, faults", MigratingFromWcfFaults.RunAsync),
    ("hosting", HostedGreeter.RunAsync),
    ("migrating from gRPC", MigratingFromGrpc.RunAsync),
    ("migrating from named pipes", MigratingFromNamedPipes.RunAsync),
    ("troubleshooting", Troubleshooting.RunAsync),
    ("testing", Testing.RunAsync),
    ("debugging", Debugging.RunAsync),
    ("README", Readme.RunAsync),
];
for (int i = 0; i < pages.Length; i++)
{
    await pages[i].RunAsync($"{prefix}/{i}");
    Console.WriteLine($"{pages[i].Page}: done");
}
