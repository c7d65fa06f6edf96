using RpcOverShm.FunctionalTests;

[assembly: NonParallelizable]
[assembly: HangBound]
[assembly: LeavesNothing]
