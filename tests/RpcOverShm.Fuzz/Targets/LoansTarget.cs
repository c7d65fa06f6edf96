using System.Buffers.Binary;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>
/// The loans of a hostile peer: files that it passes, references into them, answers to the files of this side, and
/// pieces that it returns. Between them this side borrows, disposes, rents and lends.
/// <para>An input is a sequence of steps: one byte for what happens, and 16 bytes that the peer has sent.</para>
/// </summary>
internal sealed class LoansTarget : FuzzTarget
{
    private const int StepBytes = 1 + FileNotice.EncodedBytes;
    private const int MostPieces = 8;
    private const long PassedBytes = 4 * LoanReference.BlockBytes;

    // A refused file is unmapped by the thread pool.
    private static readonly TimeSpan s_wait = TimeSpan.FromSeconds(5);

    private static readonly LoanLimits s_limits = new(PerConnection: 4 << 20, PerProcess: 64 << 20);

    // What the peer passes, whatever its notice says.
    private readonly MappedMemory _passed = HostSystem.Current.CreateMemory(PassedBytes, PassedBytes);

    public override IEnumerable<byte[]> Seeds =>
    [
        [.. Passed(0, PassedBytes), .. Reference(0, 0, 70_000), .. Of(What.Disposed), .. Of(What.Returns)],
        [.. Passed(0, PassedBytes), .. Reference(0, 3, 65_536), .. Reference(0, 3, 1), .. Of(What.Disposed)],
        [.. Passed(0, 2 * PassedBytes), .. Passed(1, PassedBytes), .. Reference(1, 2, 131_072)],
        [.. Rented(100_000), .. Answer(0, true), .. Of(What.Lent), .. Of(What.Lent), .. Back(0, 0), .. Back(0, 0)],
        [.. Rented(70_000), .. Rented(70_000), .. Answer(0, true), .. Of(What.Lent), .. Of(What.Kept), .. Back(0, 2)],
        [.. Rented(1 << 20), .. Rented(1 << 20), .. Answer(1, false), .. Answer(0, true), .. Of(What.Lent)],
        [.. Rented(1 << 18), .. Of(What.Kept), .. Answer(0, false)],
    ];

    // The tables of both halves; a step makes at most a file, an answer or a piece.
    protected override int BytesAtLeast => 64 << 10;

    protected override void Read(ReadOnlySpan<byte> input)
    {
        long before = LoanQuota.ProcessBytes;
        var link = new Link(_passed);
        try
        {
            while (input.Length >= StepBytes)
            {
                link.Step((What)(input[0] % (int)What.Count), input[1..StepBytes]);
                input = input[StepBytes..];
            }
        }
        catch (ProtocolException)
        {
            // The documented refusal: it ends the connection.
        }

        link.Close();
        Require(
            SpinWait.SpinUntil(() => LoanQuota.ProcessBytes == before, s_wait),
            "A link that has ended, without payloads, has no memory.");
    }

    private static byte[] Of(What what, ReadOnlySpan<byte> sent = default)
    {
        byte[] step = new byte[StepBytes];
        step[0] = (byte)what;
        sent.CopyTo(step.AsSpan(1));
        return step;
    }

    private static byte[] Passed(uint number, long size)
    {
        Span<byte> notice = stackalloc byte[FileNotice.EncodedBytes];
        new FileNotice(number, size).Encode(notice);
        return Of(What.Passed, notice);
    }

    private static byte[] Reference(uint file, uint block, uint length)
    {
        Span<byte> reference = stackalloc byte[LoanReference.SizeBytes];
        new LoanReference(file, block, length).Encode(reference);
        return Of(What.Referred, reference);
    }

    private static byte[] Rented(int length) => Of(What.Rented, BitConverter.GetBytes(length));

    private static byte[] Answer(byte number, bool isMapped) => Of(What.Answered, [number, (byte)(isMapped ? 1 : 0)]);

    private static byte[] Back(uint file, uint block)
    {
        Span<byte> entry = stackalloc byte[ReturnedPiece.SizeBytes];
        new ReturnedPiece(file, block).Encode(entry);
        return Of(What.Back, entry);
    }

    private enum What
    {
        /// <summary>The peer passes a file.</summary>
        Passed,

        /// <summary>It refers to bytes of one.</summary>
        Referred,

        /// <summary>This side disposes the oldest payload of the peer.</summary>
        Disposed,

        /// <summary>It tells the peer what it has given back.</summary>
        Returns,

        /// <summary>It rents a payload.</summary>
        Rented,

        /// <summary>It lends the oldest one.</summary>
        Lent,

        /// <summary>It disposes the oldest one.</summary>
        Kept,

        /// <summary>The peer answers to a file.</summary>
        Answered,

        /// <summary>The peer returns a piece.</summary>
        Back,

        Count,
    }

    /// <summary>Both halves of a link, and what they must have counted.</summary>
    private sealed class Link(MappedMemory passed)
    {
        private readonly LoanPool _pool = new(new LoanQuota(s_limits), static (_, _) => true, static _ => { })
        {
            OnLeaked = static _ => { },
        };

        private readonly PeerLoans _peer = new(new LoanQuota(s_limits)) { OnLeaked = static _ => { } };
        private readonly Queue<BorrowedPiece> _borrowed = new();
        private readonly Queue<LentPiece> _rented = new();
        private readonly Dictionary<ReturnedPiece, int> _onLoan = [];
        private long _heldBytes;
        private int _disposed;

        public void Step(What what, ReadOnlySpan<byte> sent)
        {
            switch (what)
            {
                case What.Passed:
                    Pass(FileNotice.Decode(sent));
                    break;
                case What.Referred:
                    Borrow(LoanReference.Decode(sent));
                    break;
                case What.Disposed when _borrowed.TryDequeue(out BorrowedPiece? piece):
                    DisposeOf(piece);
                    break;
                case What.Returns:
                    Return();
                    break;
                case What.Rented when _rented.Count < MostPieces:
                    Rent(BinaryPrimitives.ReadInt32LittleEndian(sent) & 0x3F_FFFF);
                    break;
                case What.Lent when _rented.TryPeek(out LentPiece? rented):
                    Lend(rented);
                    break;
                case What.Kept when _rented.TryDequeue(out LentPiece? rented):
                    ((IDisposable)rented).Dispose();
                    break;
                case What.Answered:
                    _pool.OnAnswer(sent[0], sent[1] != 0);
                    break;
                case What.Back:
                    TakeBack(sent[..ReturnedPiece.SizeBytes]);
                    break;
            }

            Require(_peer.HeldBytes == _heldBytes, "What this side holds is what it has borrowed and not disposed.");
        }

        public void Close()
        {
            _pool.Close();
            _peer.Close();
            foreach (IDisposable piece in _borrowed.Cast<IDisposable>().Concat(_rented))
            {
                piece.Dispose();
            }
        }

        private void Pass(FileNotice notice)
        {
            PeerFile file = _peer.Add(notice);
            string path = $"/proc/self/fd/{passed.Handle.DangerousGetHandle()}";
            string? problem = _peer.Map(file, File.OpenHandle(path, share: FileShare.ReadWrite));
            Require(problem is not null || notice.SizeBytes == PassedBytes, "A file that lies is not mapped.");
            Require(_peer.TryPeekAnswer(out uint number, out bool isMapped), "Each file has an answer.");
            Require(number == notice.Number && isMapped == problem is null, "The answer is that to the file.");
            _peer.DropAnswer();
        }

        private void Borrow(LoanReference reference)
        {
            if (_borrowed.Count == MostPieces)
            {
                return;
            }

            BorrowedPiece piece = _peer.Borrow(reference);
            _borrowed.Enqueue(piece);
            _heldBytes += reference.Length;
            ReadOnlySpan<byte> bytes = piece.Memory.Span;
            Require(bytes.Length == reference.Length, "A piece has the bytes of its reference.");
            Require(bytes[0] == 0 && bytes[^1] == 0, "The bytes are those of the file.");
        }

        private void DisposeOf(BorrowedPiece piece)
        {
            _heldBytes -= piece.Memory.Length;
            _disposed++;
            ((IDisposable)piece).Dispose();
        }

        private void Return()
        {
            Span<byte> entries = stackalloc byte[MostPieces * ReturnedPiece.SizeBytes];
            int length = _peer.PeekReturned(entries);
            _peer.DropReturned(length);
            _disposed -= length / ReturnedPiece.SizeBytes;
            Require(_disposed >= 0, "A piece is returned once.");
        }

        private void Rent(int length)
        {
            if (_pool.TryRent(length, out LentPiece? piece) == LoanRent.Piece)
            {
                Require(piece!.Memory.Length == length, "A piece has the length that was asked for.");
                _rented.Enqueue(piece);
            }
        }

        private void Lend(LentPiece piece)
        {
            if (_pool.TryLend(piece, out LoanReference reference))
            {
                var loan = new ReturnedPiece(reference.File, reference.Block);
                _onLoan[loan] = _onLoan.GetValueOrDefault(loan) + 1;
            }
        }

        private void TakeBack(ReadOnlySpan<byte> entry)
        {
            _pool.TakeBack(entry);
            var loan = ReturnedPiece.Decode(entry);
            Require(_onLoan.GetValueOrDefault(loan) > 0, "Only what is on loan is returned.");
            _onLoan[loan]--;
        }
    }
}
