// SPDX-License-Identifier: MIT
// Every case runs on all ranks at once; on any number of them, one included.
#include <tq/interop/mpi.hpp>
#include <tq/observe/abs_max.hpp>
#include <tq/observe/histogram.hpp>
#include <tq/observe/mean_abs.hpp>
#include <tq/observe/mean_std.hpp>
#include <tq/observe/min_max.hpp>
#include <tq/observe/moving_average.hpp>
#include <tq/observe/percentile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "support/inputs.hpp"

namespace {

struct Mpi {
  int rank = 0, size = 1;
  Mpi() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() { MPI_Finalize(); }
};
const Mpi& mpi() {
  static const Mpi running;
  return running;
}

// The call of MPI that reports a failure on the last rank, counted from 1; 0: none does.
int fail_at = 0, calls = 0;
bool fails() { return fail_at != 0 && ++calls == fail_at && mpi().rank == mpi().size - 1; }

// A merge that may throw.
struct Checked {
  std::uint64_t n = 0, kind = 0;
  void add(std::span<const float> x) { n += x.size(); }
  void merge(const Checked& o) {
    if (kind != o.kind) tq::raise(tq::errc::bad_argument, "kinds differ");
    n += o.n;
  }
  [[nodiscard]] bool empty() const { return n == 0; }
  friend bool operator==(const Checked&, const Checked&) = default;
};
// Bytes are not all of it.
struct Listed {
  std::vector<float> seen;
  void add(std::span<const float> x) { seen.insert(seen.end(), x.begin(), x.end()); }
  void merge(const Listed& o) { add(o.seen); }
  [[nodiscard]] bool empty() const { return seen.empty(); }
};

using Moving = tq::MovingAverageMinMax;

// One that can be merged whatever batches others saw.
template <class Acc>
Acc mergeable() {
  if constexpr (std::is_same_v<Acc, Moving>) return Moving(0.01, Moving::Keeps::batches);
  else return Acc();
}
static_assert(tq::interop::detail::reducible<tq::MinMax> &&
              tq::interop::detail::reducible<tq::Percentile>);
static_assert(tq::interop::Exchangeable<Checked> && !tq::interop::detail::reducible<Checked>);
static_assert(tq::interop::Exchangeable<Moving> && !tq::interop::detail::reducible<Moving>);
static_assert(tq::Accumulator<Listed> && !tq::interop::Exchangeable<Listed>);

constexpr std::size_t rows = 6, columns = 5, batch_size = rows * columns;

// Batches of very different sizes of values, with some that are skipped.
std::vector<float> batches_of(std::size_t n, std::uint64_t seed) {
  inputs::Random random(seed);
  std::vector<float> x = inputs::normals(n * batch_size, seed);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(x[i], static_cast<int>(i / batch_size % 7) * 9 - 20);
  for (float& v : x)
    if (random.chance(5))
      v = random.chance(50) ? std::numeric_limits<float>::quiet_NaN()
                            : -std::numeric_limits<float>::infinity();
  return x;
}

// Batch after batch, or cut in two, goes to ranks drawn at random, `without` left out.
template <class Obs>
void observe_part(Obs& part, Obs& whole, std::uint64_t seed, int without) {
  constexpr std::size_t n = 40;
  inputs::Random random(seed);
  const std::vector<float> x = batches_of(n, seed);
  const auto draw = [&] {
    int rank = static_cast<int>(random.below(static_cast<std::size_t>(mpi().size)));
    if (rank == without) rank = (rank + 1) % mpi().size;
    return rank;
  };
  for (std::size_t b = 0; b < n; ++b) {
    const float* from = x.data() + b * batch_size;
    whole.observe(tq::ConstTensorView(from, {rows, columns}));
    const std::size_t cut = 1 + random.below(rows);
    for (const auto& [begin, end] : {std::pair(std::size_t{0}, cut), std::pair(cut, rows)}) {
      if (const int rank = draw(); begin == end || rank != mpi().rank) continue;
      part.set_next_batch(b);
      part.observe(tq::ConstTensorView(from + begin * columns, {end - begin, columns}));
    }
  }
}

template <class Obs>
bool same(const Obs& a, const Obs& b) {
  return std::ranges::equal(a.accumulators(), b.accumulators()) && a.batches() == b.batches();
}

// That every rank says the same is part of the promise.
std::string refused_everywhere(tq::errc code, const std::function<void()>& f) {
  std::string text = test::refused(code, f);
  std::vector<char> first(text.begin(), text.end());
  first.resize(1000);
  std::vector<char> mine = first;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK(std::string(first.data()) == std::string(mine.data()));
  return text;
}

}  // namespace

// The library's functions by their other names, with a failure after the fact.
extern "C" {
int MPI_Type_contiguous(int n, MPI_Datatype of, MPI_Datatype* out) {
  return fails() ? MPI_ERR_OTHER : PMPI_Type_contiguous(n, of, out);
}
int MPI_Op_create(MPI_User_function* f, int commutes, MPI_Op* out) {
  return fails() ? MPI_ERR_OTHER : PMPI_Op_create(f, commutes, out);
}
int MPI_Allgather(const void* from, int n, MPI_Datatype type, void* to, int m, MPI_Datatype to_type,
                  MPI_Comm comm) {
  const int code = PMPI_Allgather(from, n, type, to, m, to_type, comm);
  return fails() ? MPI_ERR_OTHER : code;
}
int MPI_Allgatherv(const void* from, int n, MPI_Datatype type, void* to, const int* counts,
                   const int* begins, MPI_Datatype to_type, MPI_Comm comm) {
  const int code = PMPI_Allgatherv(from, n, type, to, counts, begins, to_type, comm);
  return fails() ? MPI_ERR_OTHER : code;
}
int MPI_Allreduce(const void* from, void* to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int code = PMPI_Allreduce(from, to, n, type, op, comm);
  return type != MPI_2INT && fails() ? MPI_ERR_OTHER : code;  // pairs are how ranks agree
}
int MPI_Reduce(const void* from, void* to, int n, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  const int code = PMPI_Reduce(from, to, n, type, op, root, comm);
  return fails() ? MPI_ERR_OTHER : code;
}
}

TEST_CASE("before MPI_Init there is nothing to exchange", "[mpi]") {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) return;
  tq::Observer<tq::MinMax> observer;
  test::raises(tq::errc::bad_argument, {"tq::interop::all_reduce: ", "before MPI_Init"},
               [&] { tq::interop::all_reduce(observer, MPI_COMM_WORLD); });
}

TEMPLATE_TEST_CASE("every rank ends with what one would have seen", "[mpi]", tq::MinMax, tq::AbsMax,
                   tq::MeanAbs, tq::MeanStd, tq::Histogram, tq::AbsHistogram,
                   tq::BasicHistogram<64>, tq::Percentile, Moving, Checked) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const int without =
        mpi().size == 1 ? -1
                        : static_cast<int>(seed) % (mpi().size + 1);  // that saw nothing, or none
    const auto check = [&](auto empty) {
      auto part = empty, whole = empty;
      observe_part(part, whole, seed, without);
      const auto before = part;
      const int root = static_cast<int>(seed) % mpi().size;
      tq::interop::reduce(part, root, MPI_COMM_WORLD);
      CHECK(same(part, mpi().rank == root ? whole : before));
      part = before;
      tq::interop::all_reduce(part, MPI_COMM_WORLD);
      CHECK(same(part, whole));
      CHECK(part.name() == "x");
    };
    check(tq::Observer<TestType>({}, mergeable<TestType>(), "x"));
    check(tq::Observer<TestType, tq::PerChannel<1>>({}, mergeable<TestType>(), "x"));
  }
  tq::Observer<TestType> none;
  none.set_next_batch(static_cast<std::uint64_t>(mpi().rank));
  tq::interop::all_reduce(none, MPI_COMM_WORLD);
  CHECK(none.accumulators().empty());
  CHECK(none.batches() == static_cast<std::uint64_t>(mpi().size - 1));
}

TEMPLATE_TEST_CASE("more slots than one call of MPI moves", "[mpi]", tq::MeanStd, tq::Histogram,
                   Moving) {
  const std::size_t n = std::is_same_v<TestType, tq::Histogram> ? 1500 : 100000;
  const auto size = static_cast<std::uint64_t>(mpi().size);
  tq::Observer<TestType, tq::PerChannel<1>> part({}, mergeable<TestType>()), whole = part;
  for (std::uint64_t b = 0; b < 2 * size; ++b) {
    const std::vector<float> x = inputs::normals(n, b);
    whole.observe(tq::ConstTensorView(x.data(), {1, n}));
    if (b % size != static_cast<std::uint64_t>(mpi().rank)) continue;
    part.set_next_batch(b);
    part.observe(tq::ConstTensorView(x.data(), {1, n}));
  }
  tq::interop::all_reduce(part, MPI_COMM_WORLD);
  CHECK(same(part, whole));
}

TEST_CASE("bytes of every rank, by rank, of any number", "[mpi]") {
  const auto bytes_of = [](int rank, std::size_t n) {
    std::vector<std::byte> bytes(n);
    for (std::size_t i = 0; i < n; ++i)
      bytes[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(rank) * 7 + i / 256);
    return bytes;
  };
  // No bytes, some on all but rank 0, and more than one call of MPI moves.
  for (const std::size_t unit : {std::size_t{0}, std::size_t{5}, std::size_t{17} << 20}) {
    const auto size_of = [&](int rank) {
      return unit * static_cast<std::size_t>(rank) % 40'000'000;
    };
    const auto all =
        tq::interop::all_gather(bytes_of(mpi().rank, size_of(mpi().rank)), MPI_COMM_WORLD);
    REQUIRE(all.size() == static_cast<std::size_t>(mpi().size));
    for (int rank = 0; rank < mpi().size; ++rank)
      CHECK(all[static_cast<std::size_t>(rank)] == bytes_of(rank, size_of(rank)));
  }
}

TEST_CASE("a communicator of some ranks", "[mpi]") {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, mpi().rank % 2, -mpi().rank, &half);
  tq::Observer<tq::MinMax> observer;
  observer.observe(std::vector<float>{static_cast<float>(mpi().rank)});
  tq::interop::all_reduce(observer, half);
  const int last = mpi().size - 1 - (mpi().size - 1 - mpi().rank) % 2;
  CHECK(observer.accumulators()[0].range() ==
        tq::Range{static_cast<float>(mpi().rank % 2), static_cast<float>(last)});
  MPI_Comm_free(&half);
}

TEST_CASE("ranks that disagree all say so, and can go on", "[mpi]") {
  if (mpi().size == 1) return;
  const int last = mpi().size - 1;
  const auto disagree = [&](auto observer) {
    observer.observe(tq::ConstTensorView(batches_of(1, 3).data(),
                                         {rows, mpi().rank == last ? columns - 1 : columns}));
    const auto before = observer;
    const std::string text = refused_everywhere(
        tq::errc::shape_mismatch, [&] { tq::interop::all_reduce(observer, MPI_COMM_WORLD); });
    CHECK(test::has(text, "tq::interop::all_reduce: tensor 'relu': expected 5 slots"));
    CHECK(test::has(text, "got 4 on rank " + std::to_string(last)));
    CHECK(same(observer, before));
    observer.reset();
    tq::interop::all_reduce(observer, MPI_COMM_WORLD);
  };
  disagree(tq::Observer<tq::MeanStd, tq::PerChannel<1>>({}, {}, "relu"));
  disagree(tq::Observer<Moving, tq::PerChannel<1>>({}, Moving(), "relu"));

  tq::Observer<tq::MinMax> observer;
  CHECK(test::has(
      refused_everywhere(tq::errc::bad_argument,
                         [&] { tq::interop::reduce(observer, mpi().rank, MPI_COMM_WORLD); }),
      "tq::interop::reduce: expected root 0 as on rank 0, got 1 on rank 1"));
  // Programs that differ between ranks.
  tq::Observer<tq::MeanStd> other;
  refused_everywhere(tq::errc::bad_argument, [&] {
    if (mpi().rank == 0) tq::interop::all_reduce(observer, MPI_COMM_WORLD);
    else tq::interop::all_reduce(other, MPI_COMM_WORLD);
  });
}

TEST_CASE("roots and communicators that do not exist", "[mpi]") {
  tq::Observer<tq::MinMax> observer;
  for (const int root : {-1, mpi().size})
    CHECK(test::has(
        refused_everywhere(tq::errc::bad_argument,
                           [&] { tq::interop::reduce(observer, root, MPI_COMM_WORLD); }),
        "expected a root in [0, " + std::to_string(mpi().size) + "), got " + std::to_string(root)));
  refused_everywhere(tq::errc::bad_argument,
                     [&] { tq::interop::all_reduce(observer, MPI_COMM_NULL); });
  if (mpi().size == 1) return;
  MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, mpi().rank == 0 ? 0 : 1, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, mpi().rank == 0 ? 1 : 0, 7, &between);
  refused_everywhere(tq::errc::bad_argument, [&] { tq::interop::all_reduce(observer, between); });
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

TEST_CASE("what a merge throws, every rank throws", "[mpi]") {
  if (mpi().size == 1) return;
  for (const bool saw_data : {true, false}) {
    tq::Observer<Moving> moving({}, Moving(mpi().rank == 1 ? 0.5 : 0.25));
    tq::Observer<Checked> checked({}, Checked{0, mpi().rank == 1 ? 1u : 0u});
    if (saw_data || mpi().rank != 1) {
      moving.observe(std::vector<float>{1});
      checked.observe(std::vector<float>{1});
    }
    CHECK(test::has(refused_everywhere(tq::errc::bad_argument,
                                       [&] { tq::interop::all_reduce(moving, MPI_COMM_WORLD); }),
                    "tq::MovingAverageMinMax::merge"));
    refused_everywhere(tq::errc::bad_argument,
                       [&] { tq::interop::reduce(checked, 0, MPI_COMM_WORLD); });
    CHECK(checked.batches() == (saw_data || mpi().rank != 1 ? 1 : 0));
  }
}

TEST_CASE("a failure of MPI on one rank is an error on all", "[mpi]") {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL, after = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  const auto check = [](auto observer, const auto& run) {
    observer.observe(std::vector<float>{static_cast<float>(mpi().rank), 1});
    auto unharmed = observer;
    fail_at = std::numeric_limits<int>::max();
    calls = 0;
    run(unharmed);
    const int total = calls;
    for (int i = 1; i <= total; ++i) {
      fail_at = i;
      calls = 0;
      auto copy = observer;
      const std::string text = refused_everywhere(tq::errc::io_failure, [&] { run(copy); });
      CHECK(test::has(text, "expected MPI to succeed, got '"));
      CHECK(test::has(text, "on rank " + std::to_string(mpi().size - 1)));
      CHECK(same(copy, observer));
    }
    fail_at = 0;
    return total;
  };
  const auto all = [](auto& o) { tq::interop::all_reduce(o, MPI_COMM_WORLD); };
  const auto one = [](auto& o) { tq::interop::reduce(o, 0, MPI_COMM_WORLD); };
  CHECK(check(tq::Observer<tq::MinMax>(), all) == 4);  // facts, type, operation, slots
  CHECK(check(tq::Observer<tq::MinMax>(), one) == 4);
  CHECK(check(tq::Observer<Moving>(), all) == 3);  // facts, sizes, states
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
  CHECK(before == after);
  MPI_Errhandler_free(&before);
  MPI_Errhandler_free(&after);
}
