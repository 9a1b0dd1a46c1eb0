// SPDX-License-Identifier: MIT
// Signals that end the tool: it leaves no temporary file and dies of the signal. A limit of the
// size of files is an error, and what killed runs have left goes with the next one.
#include "process.hpp"
#include "tool_test.hpp"

#include <fcntl.h>
#include <sys/file.h>

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
    Process process({"quantize", in, out, "--overwrite"});
    until_it_writes(process);
    process.send(number);
    CHECK(process.wait() == number);
    CHECK(folder.files() == before);
    CHECK(content(out) == "old");
  }
  // As nohup does it.
  Process process({"quantize", in, out, "--overwrite"}, SIGHUP);
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
  const Result r = run({"quantize", in, out, "--overwrite"}, "ulimit -f 200; ");
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
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {8, 32})});
  std::ofstream(left) << "half";
  const int file = ::open(left.c_str(), O_RDWR);
  REQUIRE(file >= 0);
  REQUIRE(::flock(file, LOCK_EX) == 0);
  succeed({"quantize", in, out});
  CHECK(fs::exists(left));  // another run may be writing it
  ::close(file);
  succeed({"quantize", in, out});
  CHECK(folder.files() == std::set<std::string>{"m.safetensors", "q.safetensors"});
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"calibrate", in, "--observer", "histogram", "-o", folder("p.json"),
                                 "--state", folder("s.json")},
        {"merge-state", folder("s.json"), "-o", folder("t.json")},
        {"plot", folder("s.json"), "-o", folder("s.html")},
        {"select", in, "--max-bits", "9", "-o", folder("c.json")},
        {"sensitivity", in, "--types", "int8", "--profile", folder("times.json")},
        {"report", in, out, "-o", folder("r.html")},
        {"dequantize", out, folder("d.safetensors")},
        {"dequantize", out, folder("d.npy")}}) {
    INFO(command[0]);
    std::ofstream(left) << "half";
    succeed(command);
    CHECK_FALSE(fs::exists(left));
  }
}

}  // namespace
