using RpcOverShm.Perf.Pair;

// "serve ADDRESS", "call ADDRESS CELL..." and "spin" are the processes of a start; "run" starts them, see perf/compare.
return args switch
{
    ["run", .. string[] rest] => await PairRun.MainAsync(rest),
    ["serve", string address] => await PairServer.RunAsync(address),
    ["call", string address, .. string[] cells] => await PairClient.RunAsync(address, cells),
    ["spin"] => PairServer.Spin(),
    _ => PairRun.Explain(),
};
