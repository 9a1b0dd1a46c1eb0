// SPDX-License-Identifier: MIT
// How much tq says: tables of many tensors, --quiet and --verbose, progress on a terminal and in a
// log, and what it says of files beside a model.
#include "tool_test.hpp"

#include <fcntl.h>
#include <stdlib.h>

#include <algorithm>
#include <regex>

using namespace tool_test;

namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string many_tensors(const Folder& folder, std::size_t count) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    tensors.push_back(tensor(layer + "q.weight", {8, 32}, DType::f32, static_cast<unsigned>(i)));
    tensors.push_back(tensor(layer + "norm.weight", {32}));
  }
  const std::string in = folder("m.safetensors");
  tq::io::write_safetensors(in, tensors);
  return in;
}

// The text that a run writes to a terminal as its standard error.
std::string on_terminal(std::vector<std::string> arguments) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(::grantpt(terminal) == 0);
  REQUIRE(::unlockpt(terminal) == 0);
  const std::string name = ::ptsname(terminal);
  arguments.insert(arguments.begin(), tool_test::program);
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  const ::pid_t child = ::fork();
  if (child == 0) {
    const int err = ::open(name.c_str(), O_RDWR | O_NOCTTY), out = ::open("/dev/null", O_WRONLY);
    ::dup2(out, 1);
    ::dup2(err, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const int kept = ::open(name.c_str(), O_RDWR | O_NOCTTY);  // so that reading does not fail before
  int status = 0;
  ::waitpid(child, &status, 0);
  ::fcntl(terminal, F_SETFL, O_NONBLOCK);
  std::string text;
  char part[4096];
  for (::ssize_t n; (n = ::read(terminal, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  ::close(kept);
  ::close(terminal);
  CHECK(status == 0);
  return text;
}

}  // namespace

TEST_CASE("many tensors are summed up by scheme, unless each is asked for") {
  const Folder folder("many_rows");
  const std::string in = many_tensors(folder, 40), out = folder("q.safetensors");
  const std::string text = succeed({"quantize", in, out, "--type", "int4"});
  CHECK(lines_of(text) < 10);
  CHECK(has(text, "lowest SQNR dB"));
  CHECK(has(text, "int4 per_channel(axis 0) symmetric"));
  CHECK(has(text, "F32, copied (1-D)"));
  CHECK(has(text, "--verbose prints a row for each of the 80 tensors"));
  CHECK(has(text, "40 of 80 tensors quantized"));
  const std::string whole = succeed({"quantize", in, out, "--type", "int4", "--verbose"});
  for (int i = 0; i < 40; ++i)
    CHECK(has(whole, "\nmodel.layers." + std::to_string(i) + ".q.weight "));
  // The lowest of all rows is the one that the sum names.
  const Json told = Json::parse(succeed({"quantize", in, out, "--type", "int4", "--json"}));
  const Json* worst = nullptr;
  for (const Json& t : told["tensors"])
    if (t["quantized"] && (!worst || t["error"]["sqnr_db"] < (*worst)["error"]["sqnr_db"]))
      worst = &t;
  CHECK(has(text, "  " + (*worst)["name"].get<std::string>() + "\n"));
  CHECK(told["tensors"].size() == 80);
  const std::string compared = succeed({"compare", in, out});
  CHECK(lines_of(compared) < 8);
  CHECK(has(compared, "80 tensors compared, 40 identical"));
  CHECK(lines_of(succeed({"compare", in, out, "--verbose"})) > 80);
  const std::string params = folder("p.json");
  CHECK(has(succeed({"calibrate", in, "-o", params}), "... and 30 rows more, which --verbose"));
  CHECK(lines_of(succeed({"calibrate", in, "-o", params, "--verbose"})) > 80);
}

TEST_CASE("few tensors have a row each") {
  const Folder folder("few_rows");
  const std::string in = many_tensors(folder, 5);
  CHECK(has(succeed({"quantize", in, folder("q.safetensors")}), "\nmodel.layers.4.norm.weight "));
}

TEST_CASE("--quiet prints nothing, and leaves --json and errors alone") {
  const Folder folder("quiet");
  const std::string in = many_tensors(folder, 3), out = folder("q.safetensors"),
                    page = folder("r.html"), state = folder("s.json");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"quantize", in, out},
        {"dequantize", out, folder("d.safetensors")},
        {"compare", in, out},
        {"report", in, out, "-o", page},
        {"sweep", in, "--types", "int8"},
        {"sensitivity", in, "--types", "int8"},
        {"select", in, "--types", "int8", "--max-bits", "10", "-o", folder("c.json")},
        {"calibrate", in, "--state", state, "-o", folder("p.json")},
        {"plot", state, "-o", folder("p.html")}}) {
    INFO(command[0]);
    std::vector<std::string> quiet = command;
    quiet.insert(quiet.end(), {"--quiet"});
    if (command[0] != "plot") quiet.insert(quiet.end(), {"--progress", "0"});
    CHECK(succeed(quiet).empty());
    quiet.push_back("--json");
    CHECK(Json::parse(succeed(quiet)).is_object());
  }
  CHECK(has(fail(1, {"quantize", folder("none.safetensors"), out, "--quiet"}), "No such file"));
}

TEST_CASE("a log gets lines of progress with time and estimate, and a terminal one that changes") {
  const Folder folder("progress");
  const std::string in = many_tensors(folder, 20), out = folder("q.safetensors");
  const Result logged = run({"quantize", in, out, "--progress", "0"});
  CHECK(logged.status == 0);
  CHECK(lines_of(logged.err) == 41);  // one a tensor, and the last
  const std::string time = "\\d+:\\d\\d", name = "tq quantize: ";
  CHECK(std::regex_search(
      logged.err, std::regex("^" + name + "\\d+ % after " + time + ", about " + time + " left\n")));
  CHECK(std::regex_search(logged.err, std::regex("\n" + name + "100 % after " + time + "\n" + name +
                                                 "done after " + time + "\n$")));
  CHECK(logged.err.find('\r') == std::string::npos);
  for (const char* option : {"--quiet", "--json"})
    CHECK(run({"quantize", in, out, "--progress", "0", option}).err.empty());
  succeed({"quantize", in, out});  // no line, unless the machine is slow
  CHECK(has(fail(2, {"quantize", in, out, "--progress", "-1"}), "--progress"));
  const std::string drawn = on_terminal({"quantize", in, out});
  CHECK(has(drawn, "\r\x1b[Kquantize ["));
  CHECK(has(drawn, " % after "));
  CHECK(drawn.ends_with("\r\x1b[K"));  // nothing is left of it
  CHECK(drawn.find('\n') == std::string::npos);
  for (const char* option : {"--quiet", "--json"})
    CHECK(on_terminal({"quantize", in, out, option}).empty());
}

TEST_CASE("of a folder, the output may be a folder that is new and has no slash") {
  const Folder folder("new_folder");
  fs::create_directories(folder("llama"));
  tq::io::write_safetensors(folder("llama/model.safetensors"), std::vector{tensor("w", {4, 8})});
  succeed({"quantize", folder("llama"), folder("llama-int4")});
  CHECK(fs::exists(folder("llama-int4/model.safetensors")));
  succeed({"quantize", folder("llama"), folder("llama-3.1-int4")});
  CHECK(fs::exists(folder("llama-3.1-int4/model.safetensors")));
  succeed({"dequantize", folder("llama-int4"), folder("back")});
  CHECK(fs::exists(folder("back/model.safetensors")));
  fs::create_directories(folder("many"));
  tq::io::write_safetensors(folder("many/m-1.safetensors"), std::vector{tensor("w", {4, 8})});
  std::ofstream(folder("many/model.safetensors.index.json"))
      << R"({"weight_map": {"w": "m-1.safetensors"}})";
  succeed({"quantize", folder("many"), folder("many-int4")});
  CHECK(fs::exists(folder("many-int4/model.safetensors.index.json")));
  // Names of files, files that are there, and one file for a model stay as they were.
  const auto files = folder.files();
  for (const char* name : {"q.onnx", "q.npy", "q.bin", "q.json", "q.pt"})
    CHECK(has(fail(2, {"quantize", folder("llama"), folder(name)}), "OUT: expected a name ending"));
  CHECK(
      has(fail(2, {"quantize", folder("llama/model.safetensors"), folder("q")}), "OUT: expected"));
  std::ofstream(folder("taken")) << "x";
  CHECK(has(fail(2, {"quantize", folder("llama"), folder("taken")}), "OUT: expected"));
  CHECK(content(folder("taken")) == "x");
  fs::remove(folder("taken"));
  CHECK(folder.files() == files);
}

TEST_CASE("files of a model's folder that are not carried over are named") {
  const Folder folder("left_behind");
  fs::create_directories(folder("in/sub"));
  tq::io::write_safetensors(folder("in/model.safetensors"), std::vector{tensor("w", {4, 8})});
  const std::string said = "Not copied from " + folder("in") + ": ";
  CHECK_FALSE(has(succeed({"quantize", folder("in"), folder("none/")}) + said, "x: sub/"));
  for (const char* name : {"config.json", "tokenizer.json", ".gitattributes"})
    std::ofstream(folder(std::string("in/") + name)) << "{}";
  CHECK(has(succeed({"quantize", folder("in"), folder("out/")}),
            said + "config.json, sub/, tokenizer.json.\n"));
  CHECK(has(succeed({"quantize", folder("in"), folder("q.safetensors")}), said));
  // Files that the output has already are not reported as missing.
  std::ofstream(folder("out/config.json")) << "{}";
  const Json told = Json::parse(succeed({"quantize", folder("in"), folder("out/"), "--json"}));
  CHECK(told["files_not_copied"] == Json{"sub/", "tokenizer.json"});
  for (int i = 0; i < 20; ++i) std::ofstream(folder("in/f" + std::to_string(i)));
  CHECK(has(succeed({"quantize", folder("in"), folder("out/")}),
            "f0, f1, f10, f11, f12, f13 and 16 more.\n"));
  CHECK(has(succeed({"dequantize", folder("out/model.safetensors"), folder("d.safetensors")}),
            "dequantized"));
  // A single file may lie among anything.
  CHECK_FALSE(has(succeed({"quantize", folder("in/model.safetensors"), folder("q.safetensors")}),
                  "Not copied"));
}
