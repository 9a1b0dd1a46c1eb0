// SPDX-License-Identifier: MIT
// Signals that end the tool: it leaves no temporary file and dies of the signal.
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
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
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

}  // namespace
