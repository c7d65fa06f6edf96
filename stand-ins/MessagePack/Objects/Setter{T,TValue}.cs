namespace MessagePack.Objects;

/// <summary>Gives a member its value; by reference, so that a struct keeps it.</summary>
internal delegate void Setter<T, in TValue>(ref T target, TValue value);
