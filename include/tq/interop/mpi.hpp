// SPDX-License-Identifier: MIT
#pragma once
// Observers over MPI ranks: each rank sees a part of the data, and gets what all of them saw. And
// bytes of any kind.

// The C interface. The C++ one that some libraries still have is no longer in the standard, and is
// a library of its own.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif

#include <tq/error.hpp>
#include <tq/observe/concepts.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/observer.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tq::interop {

namespace detail {
// Bytes that one call of MPI moves: counts are int, and MPI may hold copies.
inline constexpr std::size_t mpi_piece = std::size_t{1} << 24;

// Its bytes are all of it, and MPI's own buffers can hold it.
template <class A>
concept flat = std::is_trivially_copyable_v<A> && alignof(A) <= alignof(std::max_align_t) &&
               sizeof(A) <= mpi_piece;
}  // namespace detail

/// How an accumulator reaches another rank: `write` appends it to bytes, `read` takes it from the
/// front of bytes. One that is trivially copyable is copied as it is. Specialize it for
/// accumulators of yours that hold memory.
template <class A>
struct Wire;

/// Accumulators without memory of their own.
template <detail::flat A>
struct Wire<A> {
  static void write(const A& a, std::vector<std::byte>& out) {
    const auto* from = reinterpret_cast<const std::byte*>(&a);
    out.insert(out.end(), from, from + sizeof(A));
  }
  static A read(std::span<const std::byte>& in) {
    std::array<std::byte, sizeof(A)> bytes;
    std::copy_n(in.begin(), sizeof(A), bytes.begin());
    in = in.subspan(sizeof(A));
    return std::bit_cast<A>(bytes);
  }
};

/// The ranges of batches, after a head of fixed size.
template <>
struct Wire<MovingAverageMinMax> {
  static void write(const MovingAverageMinMax& a, std::vector<std::byte>& out) {
    const auto s = a.state();
    const auto average = s.average.value_or(MovingAverageMinMax::Average{});
    Wire<Head>::write(
        {s.constant, s.finite, s.nan, s.infinite, s.batches.size(), average.min, average.max,
         s.average.has_value(), s.keeps == MovingAverageMinMax::Keeps::batches},
        out);
    for (const auto& batch : s.batches) Wire<MovingAverageMinMax::Batch>::write(batch, out);
  }
  static MovingAverageMinMax read(std::span<const std::byte>& in) {
    const Head head = Wire<Head>::read(in);
    using Moving = MovingAverageMinMax;
    Moving::State s{head.constant,
                    head.keeps_batches != 0 ? Moving::Keeps::batches : Moving::Keeps::average,
                    {},
                    {},
                    head.finite,
                    head.nan,
                    head.infinite};
    if (head.has_average != 0) s.average = Moving::Average{head.min, head.max};
    s.batches.reserve(head.batches);
    for (std::size_t i = 0; i < head.batches; ++i)
      s.batches.push_back(Wire<MovingAverageMinMax::Batch>::read(in));
    return MovingAverageMinMax::from_state(s);
  }

 private:
  struct Head {
    double constant;
    std::uint64_t finite, nan, infinite, batches;
    float min, max;  // of the average
    std::uint32_t has_average, keeps_batches;
  };
};

/// An accumulator that ranks can exchange. Models: `MinMax`, for its bytes (a pointer among them
/// would compile, and be wrong); `MovingAverageMinMax`, for its `Wire`.
template <class A>
concept Exchangeable = Accumulator<A> && requires(const A& a, std::vector<std::byte>& out,
                                                  std::span<const std::byte>& in) {
  Wire<A>::write(a, out);
  { Wire<A>::read(in) } -> std::same_as<A>;
};

namespace detail {

// A communicator whose failures are codes for a while, so that ranks can agree on them.
class Ranks {
 public:
  Ranks(std::string where, MPI_Comm comm) : where_(std::move(where)), comm_(comm) {
    int started = 0, ended = 0, between_groups = 0;
    MPI_Initialized(&started);
    MPI_Finalized(&ended);
    if (started == 0 || ended != 0)
      tq::detail::raise_text(errc::bad_argument,
                             {where_, "expected MPI to run, got a call ",
                              started == 0 ? "before MPI_Init" : "after MPI_Finalize"});
    if (comm != MPI_COMM_NULL) MPI_Comm_test_inter(comm, &between_groups);
    if (comm == MPI_COMM_NULL || between_groups != 0)
      tq::detail::raise_text(errc::bad_argument,
                             {where_, "expected a communicator of one group, got ",
                              comm == MPI_COMM_NULL ? "MPI_COMM_NULL" : "one between groups"});
    MPI_Comm_get_errhandler(comm, &handler_);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    note(MPI_Comm_size(comm, &size_));
    note(MPI_Comm_rank(comm, &rank_));
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() {
    MPI_Comm_set_errhandler(comm_, handler_);
    MPI_Errhandler_free(&handler_);
  }

  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }

  // Keeps the first failure. Until `agree`, a rank goes on after one: the others wait for it.
  void note(int code) noexcept {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  // Throws on every rank when one of them noted a failure.
  void agree() {
    struct {
      int code, rank;
    } mine{code_, rank_}, worst{code_, rank_};
    note(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm_));
    if (worst.code == MPI_SUCCESS) worst = {code_, rank_};
    if (worst.code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = "an unknown error";
    int length = 0;
    MPI_Error_string(worst.code, text, &length);
    tq::detail::raise_text(errc::io_failure, {where_, "expected MPI to succeed, got '", text,
                                              "' on rank ", worst.rank});
  }
  [[noreturn]] void refuse(errc code, const std::string& text) const { raise(code, where_ + text); }

  // `mine` of every rank, by rank.
  template <class T>
  [[nodiscard]] std::vector<T> gather(const T& mine) {
    std::vector<T> all(size(), mine);
    note(MPI_Allgather(&mine, static_cast<int>(sizeof(T)), MPI_BYTE, all.data(),
                       static_cast<int>(sizeof(T)), MPI_BYTE, comm_));
    agree();
    return all;
  }
  // The same for bytes, of which each rank has its own number.
  [[nodiscard]] std::vector<std::vector<std::byte>> gather_bytes(std::span<const std::byte> mine) {
    const auto sizes = gather(std::uint64_t{mine.size()});
    std::vector<std::vector<std::byte>> all(size());
    const std::size_t piece = std::max<std::size_t>(mpi_piece / size(), 1);
    const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
    std::vector<std::byte> received;
    std::vector<int> counts(size()), begins(size());
    for (std::size_t at = 0; at < most; at += piece) {
      int end = 0;
      for (std::size_t r = 0; r < size(); ++r) {
        begins[r] = end;
        counts[r] = sizes[r] > at ? static_cast<int>(std::min(piece, sizes[r] - at)) : 0;
        end += counts[r];
      }
      received.resize(static_cast<std::size_t>(end));
      const auto own = static_cast<std::size_t>(rank_);
      note(MPI_Allgatherv(mine.data() + std::min(at, mine.size()), counts[own], MPI_BYTE,
                          received.data(), counts.data(), begins.data(), MPI_BYTE, comm_));
      for (std::size_t r = 0; r < size(); ++r)
        all[r].insert(all[r].end(), received.begin() + begins[r],
                      received.begin() + begins[r] + counts[r]);
    }
    agree();
    return all;
  }

 private:
  std::string where_;
  MPI_Comm comm_;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
  int size_ = 1, rank_ = 0, code_ = MPI_SUCCESS;
};

// MPI calls it, and knows no exceptions.
template <class A>
concept reducible = flat<A> && noexcept(std::declval<A&>().merge(std::declval<const A&>()));

// `merge` as an operation of MPI, in the order of the ranks.
template <reducible A>
class Merging {
 public:
  explicit Merging(Ranks& ranks) noexcept {
    ranks.note(MPI_Type_contiguous(static_cast<int>(sizeof(A)), MPI_BYTE, &type_));
    if (type_ != MPI_DATATYPE_NULL) ranks.note(MPI_Type_commit(&type_));
    ranks.note(MPI_Op_create(&merge, 0, &op_));
  }
  Merging(const Merging&) = delete;
  Merging& operator=(const Merging&) = delete;
  ~Merging() {
    if (op_ != MPI_OP_NULL) MPI_Op_free(&op_);
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }

  void run(Ranks& ranks, std::span<A> accumulators, std::optional<int> root) const {
    constexpr std::size_t piece = mpi_piece / sizeof(A);
    for (std::size_t at = 0; at < accumulators.size(); at += piece) {
      A* const from = accumulators.data() + at;
      const int n = static_cast<int>(std::min(piece, accumulators.size() - at));
      if (!root) ranks.note(MPI_Allreduce(MPI_IN_PLACE, from, n, type_, op_, ranks.comm()));
      else if (*root == ranks.rank())
        ranks.note(MPI_Reduce(MPI_IN_PLACE, from, n, type_, op_, *root, ranks.comm()));
      else ranks.note(MPI_Reduce(from, nullptr, n, type_, op_, *root, ranks.comm()));
    }
    ranks.agree();
  }

 private:
  static void merge(void* lower_ranks, void* higher_ranks, int* n, MPI_Datatype*) noexcept {
    const A* lower = static_cast<const A*>(lower_ranks);
    A* higher = static_cast<A*>(higher_ranks);
    for (int i = 0; i < *n; ++i) {
      A both = lower[i];
      both.merge(higher[i]);
      higher[i] = both;
    }
  }

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
};

// The merge of all ranks' slots, of which each has as many: on `root`, or on every rank where there
// is none.
template <Exchangeable A>
void merge_ranks(Ranks& ranks, std::vector<A>& accumulators, std::optional<int> root) {
  if constexpr (reducible<A>) {
    const Merging<A> merging(ranks);
    ranks.agree();
    merging.run(ranks, accumulators, root);
  } else {
    std::vector<std::byte> bytes;
    for (const A& slot : accumulators) Wire<A>::write(slot, bytes);
    const auto all = ranks.gather_bytes(bytes);
    // No call of MPI follows, and all ranks merge the same: what this throws, it throws on each.
    std::vector<std::span<const std::byte>> rest(all.begin(), all.end());
    for (A& slot : accumulators) {
      slot = Wire<A>::read(rest[0]);
      for (std::size_t r = 1; r < rest.size(); ++r) slot.merge(Wire<A>::read(rest[r]));
    }
  }
}

// Facts that ranks tell one another before they exchange slots.
struct Facts {
  std::int64_t root;
  std::uint64_t slot_size, slot_count, batches;
};

// The number of slots. Throws, on every rank the same, when these ranks cannot exchange any.
inline std::uint64_t agreed_slots(const Ranks& ranks, std::span<const Facts> all) {
  const auto require = [&](errc code, bool holds, std::size_t rank, const std::string& expected,
                           auto got) {
    if (!holds)
      ranks.refuse(code, "expected " + expected + ", got " + std::to_string(got) + " on rank " +
                             std::to_string(rank));
  };
  const Facts& first = all[0];
  std::uint64_t slot_count = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const Facts& f = all[r];
    require(errc::bad_argument, f.root == first.root, r,
            "root " + std::to_string(first.root) + " as on rank 0", f.root);
    require(errc::bad_argument, f.slot_size == first.slot_size, r,
            "accumulators of " + std::to_string(first.slot_size) + " bytes as on rank 0",
            f.slot_size);
    require(errc::shape_mismatch,
            slot_count == 0 || f.slot_count == 0 || f.slot_count == slot_count, r,
            std::to_string(slot_count) + " slots as on the ranks before", f.slot_count);
    slot_count = std::max(slot_count, f.slot_count);
  }
  return slot_count;
}

template <class Acc, class Gran, class NonFinite>
void exchange(const char* function, Observer<Acc, Gran, NonFinite>& observer,
              std::optional<int> root, MPI_Comm comm) {
  using Whole = Observer<Acc, Gran, NonFinite>;
  Ranks ranks(std::string(function) + ": " +
                  (observer.name().empty() ? "" : "tensor '" + observer.name() + "': "),
              comm);
  std::vector<Acc> accumulators(observer.accumulators().begin(), observer.accumulators().end());
  std::uint64_t batches = 0;
  const auto all =
      ranks.gather(Facts{root.value_or(0), sizeof(Acc), accumulators.size(), observer.batches()});
  const std::uint64_t count = agreed_slots(ranks, all);
  if (root && (*root < 0 || static_cast<std::size_t>(*root) >= ranks.size()))
    ranks.refuse(errc::bad_argument, "expected a root in [0, " + std::to_string(ranks.size()) +
                                         "), got " + std::to_string(*root));
  for (const Facts& f : all) batches = std::max(batches, f.batches);
  accumulators.resize(count, observer.prototype());  // a rank that saw nothing
  if (count != 0) merge_ranks(ranks, accumulators, root);
  if (!root || *root == ranks.rank())
    observer = Whole(observer.granularity(), observer.prototype(), observer.name(),
                     std::move(accumulators), batches);
}

}  // namespace detail

/// Gives every rank the merge of all ranks' observers: as `Observer::merge`, whose result does not
/// depend on how the data were spread over ranks. Every rank of `comm` calls it, with the same
/// accumulator, between MPI_Init and MPI_Finalize; those that saw nothing may. On an error no
/// observer has changed.
/// Throws, on every rank: `errc::shape_mismatch` when numbers of slots differ (0 aside);
/// `errc::bad_argument` when accumulators differ in size, MPI does not run, or `comm` is not one
/// group of ranks; `errc::io_failure` when MPI fails on any rank; what `merge` of the accumulators
/// throws.
template <Exchangeable Acc, Granularity Gran, NonFinitePolicy NonFinite>
void all_reduce(Observer<Acc, Gran, NonFinite>& observer, MPI_Comm comm) {
  detail::exchange("tq::interop::all_reduce", observer, std::nullopt, comm);
}

/// The same for rank `root` alone; the observers of the others stay as they are.
/// Throws, on every rank: as `all_reduce`, and `errc::bad_argument` when `root` is not the same on
/// all, or no rank.
template <Exchangeable Acc, Granularity Gran, NonFinitePolicy NonFinite>
void reduce(Observer<Acc, Gran, NonFinite>& observer, int root, MPI_Comm comm) {
  detail::exchange("tq::interop::reduce", observer, root, comm);
}

/// The bytes of every rank of `comm`, by rank; their numbers may differ, and be 0. Every rank
/// calls it, between MPI_Init and MPI_Finalize. Throws, on every rank: `errc::bad_argument` when
/// MPI does not run, or `comm` is not one group of ranks; `errc::io_failure` when MPI fails on any
/// rank.
[[nodiscard]] inline std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine,
                                                                    MPI_Comm comm) {
  return detail::Ranks("tq::interop::all_gather: ", comm).gather_bytes(mine);
}

}  // namespace tq::interop
