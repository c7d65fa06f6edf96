// Shipped code finds these types in place of the real ones: an alias hides the types of imported namespaces, and the
// shims have the names of product types that are not compiled here.
global using RpcOverShm.Explorer.Shims;
global using CrashPoint = RpcOverShm.Explorer.Shims.ModelCrashPoint;
global using GC = RpcOverShm.Explorer.Shims.ModelCollector;
global using Interlocked = RpcOverShm.Explorer.Shims.ModelInterlocked;
global using Volatile = RpcOverShm.Explorer.Shims.ModelVolatile;
