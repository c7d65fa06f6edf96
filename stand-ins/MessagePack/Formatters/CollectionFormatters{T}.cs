using System.Collections.Concurrent;
using System.Collections.ObjectModel;

namespace MessagePack.Formatters;

/// <summary>The collections of one type of element.</summary>
internal sealed class CollectionFormatters<T> : IFormatterSource
{
    private static readonly Dictionary<Type, Func<IMessagePackFormatter>> s_formatters = new()
    {
        [typeof(List<T>)] = () => Of(ListOf),
        [typeof(IList<T>)] = () => Of<IList<T>>(ListOf),
        [typeof(ICollection<T>)] = () => Of<ICollection<T>>(ListOf),
        [typeof(IEnumerable<T>)] = () => Of<IEnumerable<T>>((elements, _) => elements),
        [typeof(IReadOnlyList<T>)] = () => Of<IReadOnlyList<T>>((elements, _) => elements),
        [typeof(IReadOnlyCollection<T>)] = () => Of<IReadOnlyCollection<T>>((elements, _) => elements),
        [typeof(LinkedList<T>)] = () => Of((elements, _) => new LinkedList<T>(elements)),
        [typeof(Queue<T>)] = () => Of((elements, _) => new Queue<T>(elements)),
        [typeof(Stack<T>)] = () => Of((elements, _) => new Stack<T>(elements.Reverse())),
        [typeof(HashSet<T>)] = () => Of(SetOf),
        [typeof(ISet<T>)] = () => Of<ISet<T>>(SetOf),
        [typeof(IReadOnlySet<T>)] = () => Of<IReadOnlySet<T>>(SetOf),
        [typeof(SortedSet<T>)] = () => Of((elements, _) => new SortedSet<T>(elements)),
        [typeof(Collection<T>)] = () => Of((elements, options) => new Collection<T>(ListOf(elements, options))),
        [typeof(ObservableCollection<T>)] = () => Of((elements, _) => new ObservableCollection<T>(elements)),
        [typeof(ReadOnlyCollection<T>)] = () => Of((elements, _) => new ReadOnlyCollection<T>(elements)),
        [typeof(ReadOnlyObservableCollection<T>)] = () => Of(
            (elements, _) => new ReadOnlyObservableCollection<T>(new ObservableCollection<T>(elements))),
        [typeof(ConcurrentBag<T>)] = () => Of((elements, _) => new ConcurrentBag<T>(elements.Reverse())),
        [typeof(ConcurrentQueue<T>)] = () => Of((elements, _) => new ConcurrentQueue<T>(elements)),
        [typeof(ConcurrentStack<T>)] = () => Of((elements, _) => new ConcurrentStack<T>(elements.Reverse())),
    };

    public IMessagePackFormatter? Create(Type type) => s_formatters.GetValueOrDefault(type)?.Invoke();

    private static CollectionFormatter<T, TCollection> Of<TCollection>(
        Func<T[], MessagePackSerializerOptions, TCollection> make)
        where TCollection : class, IEnumerable<T> => new(make);

    private static List<T> ListOf(T[] elements, MessagePackSerializerOptions options) =>
        [.. elements];

    private static HashSet<T> SetOf(T[] elements, MessagePackSerializerOptions options) =>
        new(elements, options.Security.GetEqualityComparer<T>());
}
