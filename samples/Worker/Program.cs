using RpcOverShm.Samples;

// Without arguments: a demonstration, with a worker as a second process. "serve": the worker.
return args is ["serve", ..]
    ? await GreeterWorker.RunAsync(args[1..])
    : await Demonstration.RunAsync();
