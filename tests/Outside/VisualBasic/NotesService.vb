Imports System.Collections.Concurrent
Imports System.Threading.Tasks
Imports Grpc.Core

' snippet: service
''' <summary>Keeps notes.</summary>
Friend NotInheritable Class NotesService
    Inherits Notes.NotesBase

    Private ReadOnly _notes As New ConcurrentQueue(Of Note)

    Public Overrides Function Add(request As Note, context As ServerCallContext) As Task(Of Receipt)
        _notes.Enqueue(request)
        Return Task.FromResult(New Receipt With {.Count = _notes.Count})
    End Function

    Public Overrides Async Function List(
        request As ListRequest, responseStream As IServerStreamWriter(Of Note), context As ServerCallContext) As Task
        For Each note In _notes
            Await responseStream.WriteAsync(note)
        Next
    End Function
    ' end snippet

    ' snippet: stream
    Public Overrides Async Function Import(
        requestStream As IAsyncStreamReader(Of Note), context As ServerCallContext) As Task(Of Receipt)
        While Await requestStream.MoveNext(context.CancellationToken)
            _notes.Enqueue(requestStream.Current)
        End While
        Return New Receipt With {.Count = _notes.Count}
    End Function
    ' end snippet

    Public Overrides Async Function Echo(
        requestStream As IAsyncStreamReader(Of Note),
        responseStream As IServerStreamWriter(Of Note),
        context As ServerCallContext) As Task
        While Await requestStream.MoveNext(context.CancellationToken)
            Await responseStream.WriteAsync(requestStream.Current)
        End While
    End Function
End Class
