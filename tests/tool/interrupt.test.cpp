// SPDX-License-Identifier: MIT
// Signals that end the tool: it leaves no temporary file and dies of the signal. A limit of the
// size of files is an error, and what killed runs have left goes with the next one.
#include "process.hpp"
#include "tool_test.hpp"

#include <chrono>
#include <thread>

namespace {

using namespace tool_test;

TEST_CASE("an interrupted tool removes its temporary file and dies of the signal") {
  const Folder folder("interrupt");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  write_zeros(in, 24, {4096, 4096});  // seconds of work
  std::ofstream(out) << "old";
  const std::set<std::string> before = folder.files();
  const auto until_it_writes = [&](Process& process) {
    for (int i = 0; i < 2000 && folder.files() == before; ++i) {
      REQUIRE(process.runs());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    CHECK(folder.files().size() == before.size() + 1);
  };
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGUSR1, SIGALRM}) {
    INFO(number);
    Process process({"quantize", in, out});
    until_it_writes(process);
    process.send(number);
    CHECK(process.wait() == number);
    CHECK(folder.files() == before);
    CHECK(content(out) == "old");
  }
  // As nohup does it.
  Process process({"quantize", in, out}, SIGHUP);
  until_it_writes(process);
  process.send(SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(process.runs());
  process.send(SIGTERM);
  CHECK(process.wait() == SIGTERM);
  CHECK(folder.files() == before);
}

TEST_CASE("a limit of the size of files is an error that leaves nothing") {
  const Folder folder("file_size");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  write_zeros(in, 1, {1000, 1000});
  std::ofstream(out) << "old";
  const std::set<std::string> before = folder.files();
  const Result r = run({"quantize", in, out}, "ulimit -f 200; ");
  CHECK(r.status == 1);
  CHECK(has(r.err, "File too large"));
  CHECK(folder.files() == before);
  CHECK(content(out) == "old");
}

TEST_CASE("a limit of processor time ends the tool with a message, and leaves nothing") {
  const Folder folder("processor_time");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors");
  write_zeros(in, 24, {4096, 4096});
  const std::set<std::string> before = folder.files();
  const Result r = run({"quantize", in, out, "--type", "nvfp4"}, "ulimit -c 0; ulimit -St 1; ");
  CHECK(has(r.err, "tq: ended by the limit of processor time (SIGXCPU)"));
  CHECK(folder.files() == before);
}

TEST_CASE("the next run removes what a killed one has left") {
  const Folder folder("killed");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    left = folder("tq-0123456789abcdef.tmp");
  write_zeros(in, 1, {8, 8});
  std::ofstream(left) << "half";
  succeed({"quantize", in, out});
  CHECK(fs::exists(left));  // of a moment ago: another run may be writing it
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  succeed({"quantize", in, out});
  CHECK(folder.files() == std::set<std::string>{"m.safetensors", "q.safetensors"});
}

}  // namespace
