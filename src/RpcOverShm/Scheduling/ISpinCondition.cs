namespace RpcOverShm.Scheduling;

/// <summary>
/// What a spinning thread waits for. Implemented by structs only, so that the look is compiled into the loop; it is an
/// interface because C# has no other way to pass code to a generic method without a call for each look.
/// </summary>
internal interface ISpinCondition
{
    bool IsMet { get; }
}
