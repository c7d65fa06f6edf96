// Fixtures with [Parallelizable] mostly wait, for a deadline or another process: they run first, four at a time. The
// others run alone, one after the other, since they look at what the process has.
[assembly: LevelOfParallelism(4)]
[assembly: HangBound]
[assembly: LeavesNothing]
