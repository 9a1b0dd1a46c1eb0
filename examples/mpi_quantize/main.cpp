// SPDX-License-Identifier: MIT
// tq quantize on many machines: ranks share the shards of a model, and write the bytes that tq
// quantize writes, to a folder that all of them see.
//     mpiexec -n 4 mpi_quantize model/ quantized/ --type int4

#include "commands.hpp"
#include "interrupt.hpp"
#include "option_names.hpp"
#include "quantize_options.hpp"

#include <tq/core/arithmetic.hpp>
#include <tq/interop/mpi.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr int bad_input = 1, bad_usage = 2;

// All ranks of MPI.
class Ranks : public tool::Team {
 public:
  Ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(size_); }
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine) const override {
    std::vector<std::string> all;
    for (const std::vector<std::byte>& text :
         tq::interop::all_gather(std::as_bytes(std::span<const char>(mine)), MPI_COMM_WORLD))
      all.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
    return all;
  }

 private:
  int rank_ = 0, size_ = 1;
};

// All ranks fail alike, and rank 0 says so.
int failed(const tool::Team& team, const std::exception& e, int status) {
  if (team.rank() == 0) std::cerr << "mpi_quantize: " << tool::with_option_names(e.what()) << '\n';
  return status;
}

int run(int argc, char** argv) {
  const Ranks team;
  CLI::App app{"tq quantize of a sharded model, whose shards the ranks of MPI share."};
  app.name("mpi_quantize");
  tool::QuantizeCommandLine quantizing(app);
  app.add_flag("--json", quantizing.json(), "print one JSON document instead of the table");
  try {
    app.parse(argc, argv);
    if (!tq::ieee_arithmetic())
      throw tq::error(tq::errc::unsupported, "expected IEEE arithmetic, got other");
    quantizing.run(team);
    if (!std::cout.flush())
      throw tq::error(tq::errc::io_failure, "cannot write to standard output");
    return EXIT_SUCCESS;
  } catch (const CLI::ParseError& e) {
    if (team.rank() == 0) app.exit(e);
    return e.get_exit_code() == 0 ? EXIT_SUCCESS : bad_usage;
  } catch (const tool::UsageError& e) {
    return failed(team, e, bad_usage);
  } catch (const std::exception& e) {
    return failed(team, e, bad_input);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;  // the others make no calls of MPI
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  tool::clean_up_when_interrupted();
  const int status = run(argc, argv);
  MPI_Finalize();
  return status;
}
