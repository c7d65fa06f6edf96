using RpcOverShm.Perf.JsonRpcPeer;

ParentTie.Fasten(args);
new ControlLoop(
    Console.OpenStandardInput(), Console.OpenStandardOutput(), static _ => new JsonRpcEnds()).Run();
