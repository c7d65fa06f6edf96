[assembly: NonParallelizable]
[assembly: HangBound]
[assembly: LeavesNothing]
