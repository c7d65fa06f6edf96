namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// Marks a fixture that takes no scheduling mode: it makes no calls, or its peers choose the mode. <c>.ci/run</c>
/// leaves it out of the runs in the other modes. A house test checks that it has no rig, which takes the mode.
/// </summary>
[AttributeUsage(AttributeTargets.Class, Inherited = false)]
internal sealed class OneModeAttribute() : CategoryAttribute("OneMode");
