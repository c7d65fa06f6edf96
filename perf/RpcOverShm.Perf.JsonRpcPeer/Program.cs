using RpcOverShm.Perf.JsonRpcPeer;
using RpcOverShm.Perf.Peer.Control;

ParentTie.Fasten(args);
new ControlLoop(
    Console.OpenStandardInput(), Console.OpenStandardOutput(), static _ => new JsonRpcEnds()).Run();
