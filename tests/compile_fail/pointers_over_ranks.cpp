// expect: Exchangeable
// SPDX-License-Identifier: MIT
#include <tq/interop/mpi.hpp>

struct Kept {
  std::vector<float> values;
  void add(std::span<const float> x) { values.insert(values.end(), x.begin(), x.end()); }
  void merge(const Kept& other) { add(other.values); }
  bool empty() const { return values.empty(); }
};
void f(tq::Observer<Kept>& observer) { tq::interop::all_reduce(observer, MPI_COMM_WORLD); }
