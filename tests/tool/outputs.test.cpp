// SPDX-License-Identifier: MIT
// Files and models in the place of an output: which are replaced, and which are not.
#include <tq/containers/npz_writer.hpp>

#include "shards_test.hpp"

#if defined(__linux__)
#include <sys/xattr.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <random>

using namespace tool_test;

namespace {

const std::string index_name = "model.safetensors.index.json";

// A model whose shards have these names, and its index.
void write_named(const std::string& folder, const std::vector<std::string>& shards) {
  std::vector<std::pair<std::string, std::string>> places;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const fs::path file = fs::path(folder) / shards[i];
    fs::create_directories(file.parent_path());
    const std::string name = "w" + std::to_string(i);
    tq::io::write_safetensors(
        file, std::vector<Tensor>{tensor(name, {4, 32}, DType::f32, static_cast<unsigned>(i))});
    places.emplace_back(name, shards[i]);
  }
  write_index(folder + "/" + index_name, places);
}

// Every command that writes a file, with the option or argument before the file's name.
std::vector<std::vector<std::string>> writing_commands(const Folder& folder) {
  const std::string in = folder("in/m.safetensors"), q = folder("in/q.safetensors"),
                    s = folder("in/s.json");
  return {{"quantize", in, folder("out.safetensors")},
          {"dequantize", q, folder("out.safetensors")},
          {"dequantize", q, folder("out.npy")},
          {"select", in, "--max-bits", "9", "-o", folder("out.json")},
          {"sensitivity", in, "--types", "int8", "--profile", folder("out.json")},
          {"calibrate", in, "-o", folder("out.json")},
          {"calibrate", in, "--state", folder("out.json")},
          {"merge-state", s, "-o", folder("out.json")},
          {"hessian", in, "-o", folder("out.npz")},
          {"imatrix", in, "-o", folder("out.gguf")},
          {"imatrix", in, "-o", folder("out.dat")},
          {"plot", s, "-o", folder("out.html")},
          {"report", in, q, "-o", folder("out.html")}};
}

// One tensor as a file, its quantized form, and what was observed of it.
void write_inputs(const Folder& folder) {
  fs::create_directory(folder("in"));
  tq::io::write_safetensors(folder("in/m.safetensors"), std::vector<Tensor>{tensor("w", {8, 32})});
  succeed({"quantize", folder("in/m.safetensors"), folder("in/q.safetensors")});
  succeed({"calibrate", folder("in/m.safetensors"), "--observer", "histogram", "--state",
           folder("in/s.json")});
}

// Whether files here can have the mark by which tq knows its own.
bool has_marks([[maybe_unused]] const Folder& folder) {
#if defined(__linux__)
  const std::string probe = folder("probe");
  std::ofstream{probe};
  const bool has = ::setxattr(probe.c_str(), "user.tq", "x", 1, 0) == 0;
  fs::remove(probe);
  return has;
#else
  return false;
#endif
}

std::vector<std::string> with(std::vector<std::string> command, const std::string& option) {
  command.push_back(option);
  return command;
}

}  // namespace

TEST_CASE("a file of another program is replaced with --overwrite alone, by every command") {
  const Folder folder("other_file");
  write_inputs(folder);
  for (const std::vector<std::string>& command : writing_commands(folder)) {
    INFO(command[0]);
    const std::string out = command.back();
    std::ofstream(out) << "precious";
    CHECK(has(fail(1, command), out + ": expected a free place for the output, got a file that tq "
                                      "did not write; --overwrite replaces it"));
    CHECK(content(out) == "precious");
    succeed(with(command, "--overwrite"));
    CHECK(content(out) != "precious");
    fs::remove(out);
    CHECK(folder.files() == std::set<std::string>{"in"});
  }
}

TEST_CASE("a file that tq wrote is replaced, unless somebody has changed it since") {
  const Folder folder("own_file");
  if (!has_marks(folder)) {
    WARN("this file system has no extended attributes of users");
    return;
  }
  write_inputs(folder);
  for (const std::vector<std::string>& command : writing_commands(folder)) {
    INFO(command[0]);
    const std::string out = command.back();
    succeed(command);
    succeed(command);
    if (command[0] != "quantize") {  // its files say what they are
      std::ofstream(out, std::ios::app) << " ";
      fs::last_write_time(out, fs::last_write_time(out) + std::chrono::seconds(1));
      const std::string changed = content(out);
      CHECK(has(fail(1, command), "--overwrite replaces it"));
      CHECK(content(out) == changed);
    }
    fs::remove(out);
  }
}

TEST_CASE("every command looks at the place of its output before it reads values") {
  const Folder folder("place_first");
  write_inputs(folder);
  tq::io::write_npz(folder("in/a.npz"), std::vector<Tensor>{tensor("w", {8, 32})});
  succeed({"hessian", folder("in/a.npz"), "-o", folder("in/h.npz")});
  succeed({"imatrix", folder("in/a.npz"), "-o", folder("in/i.gguf")});
  std::vector<std::vector<std::string>> commands = writing_commands(folder);
  for (std::vector<std::string>& command : commands) {
    INFO(command[0]);
    command.back() = folder("none/" + fs::path(command.back()).filename().string());
    if (command[0] == "quantize" || command[0] == "dequantize") continue;  // they make folders
    CHECK(has(fail(1, command), command.back()));
    CHECK_FALSE(fs::exists(folder("none")));
  }
  // Inputs whose values cannot be read: the place of the output is the first error.
  for (const std::string name : {"in/a.npz", "in/h.npz", "in/i.gguf", "in/s.json"}) {
    std::string bytes = content(folder(name));
    if (name == "in/a.npz") bytes[600] = static_cast<char>(~bytes[600]);  // of its values
    else bytes.resize(bytes.size() / 2);
    std::ofstream(folder(name), std::ios::binary) << bytes;
  }
  for (const auto& [command, in, out] :
       std::vector<std::array<std::string, 3>>{{"hessian", "in/a.npz", "out.npz"},
                                               {"imatrix", "in/a.npz", "out.gguf"},
                                               {"merge-state", "in/h.npz", "out.npz"},
                                               {"merge-state", "in/i.gguf", "out.gguf"},
                                               {"merge-state", "in/s.json", "out.json"}}) {
    INFO(command << " " << in);
    std::ofstream(folder(out)) << "precious";
    CHECK(has(fail(1, {command, folder(in), "-o", folder(out)}), "expected a free place"));
    CHECK(content(folder(out)) == "precious");
    CHECK_FALSE(
        has(fail(1, {command, folder(in), "-o", folder(out), "--overwrite"}), "free place"));
    CHECK(content(folder(out)) == "precious");
    if (fs::path(in).extension() == fs::path(out).extension())
      CHECK(has(fail(2, {command, folder(in), "-o", folder(in), "--overwrite"}), "another file"));
    fs::remove(folder(out));
  }
  CHECK(folder.files() == std::set<std::string>{"in"});
}

TEST_CASE("nothing is written through a link") {
  const Folder folder("links");
  write_inputs(folder);
  fs::create_directory(folder("other"));
  for (const std::vector<std::string>& command : writing_commands(folder)) {
    INFO(command[0]);
    const std::string out = command.back();
    // A link to a file of another program, to one that tq wrote, to none, and to a folder.
    std::ofstream(folder("other/file")) << "precious";
    fs::copy_file(folder("in/q.safetensors"), folder("other/own.safetensors"),
                  fs::copy_options::overwrite_existing);
    const auto before = contents(folder("other"));
    for (const char* target : {"other/file", "other/own.safetensors", "other/none", "other"}) {
      fs::create_symlink(target, out);
      CHECK(has(fail(1, command), "got a symbolic link; --overwrite replaces it"));
      CHECK(fs::is_symlink(out));
      succeed(with(command, "--overwrite"));
      CHECK(fs::is_regular_file(fs::symlink_status(out)));
      CHECK(contents(folder("other")) == before);
      fs::remove(out);
    }
  }
}

TEST_CASE("a model's own configuration is no output") {
  const Folder folder("own_config");
  write_inputs(folder);
  const std::string in = folder("in/m.safetensors"), other = folder("in/../in/config.json");
  for (const std::string name : {"in/config.json", "in/quantize_config.json"}) {
    const std::string config = folder(name), text = R"({"model_type": "llama"})";
    std::ofstream(config) << text;
    for (const std::string option : {"--json", "--overwrite"}) {
      CHECK(has(fail(2, {"select", in, "--max-bits", "9", "-o", config, option}),
                "expected another file than the configuration of the model"));
      fail(2, {"sensitivity", in, "--profile", config, option});
    }
    CHECK(content(config) == text);
    fs::remove(config);
  }
  // The profile that is read, and the index of the model, are no outputs either.
  write_named(folder("sharded"), {"a.safetensors"});
  const std::string index = folder("sharded/" + index_name), kept = content(index);
  CHECK(has(fail(2, {"sensitivity", index, "--profile", index, "--overwrite"}), "--profile"));
  CHECK(content(index) == kept);
  succeed({"sensitivity", in, "--types", "int8", "--profile", folder("t.json")});
  CHECK(has(fail(2, {"select", in, "--types", "int8", "--goal", "performance", "--profile",
                     folder("t.json"), "-o", folder("t.json"), "--overwrite"}),
            "--profile"));
}

TEST_CASE("names of shards that collide are refused before anything is written") {
  const Folder folder("collide");
  const auto refused = [&](const std::vector<std::string>& shards, const std::string& out,
                           const std::string& text) {
    INFO(shards.back());
    fs::remove_all(folder("in"));
    fs::remove_all(folder("out"));
    fs::create_directory(folder("out"));
    write_named(folder("in"), shards);
    for (const std::string option : {"--json", "--overwrite"}) {
      CHECK(has(fail(1, {"quantize", folder("in"), folder(out), option}), text));
      CHECK(fs::is_empty(folder("out")));
    }
  };
  const std::string own = "expected a name of its own in the folder of the output, got that of ";
  const std::string work = own + "the folder of unfinished runs";
  refused({"a.safetensors", "tq-unfinished/b.safetensors"}, "out/", work);
  refused({"a.safetensors", "tq-unfinished"}, "out/", work);
  refused({"a.safetensors", "TQ-Unfinished/lock"}, "out/", work);
  refused({"a.safetensors", "A.safetensors"}, "out/", own + "shard \"A.safetensors\"");
  refused({"x/a.safetensors", "X/A.safetensors"}, "out/", own + "shard \"X/A.safetensors\"");
  refused({"a.safetensors", "X", "x/b"}, "out/", own + "shard \"X\"");
  refused({"a", "a.json/b"}, "out/", own + "shard \"a\"");  // the notes of runs
  refused({"a.safetensors", "config.json"}, "out/", own + "the configuration of a model");
  refused({"a.safetensors", "tq-0123456789abcdef.tmp"}, "out/", "temporary file");
  refused({"tq-0123456789abcdef.tmp/a.safetensors"}, "out/", "temporary file");
  refused({"a.safetensors", "q.index.json"}, "out/q.index.json", "that of an index");
  refused({"a.safetensors", "Q.Index.json"}, "out/q.index.json", "that of an index");
  refused({"a.safetensors", "q.index.json/b"}, "out/q.index.json", own + "the index");
  // Odd names that collide with nothing are kept.
  write_named(folder("odd"), {"a", "b.npy", "x/b.safetensors", "tq-unfinished.safetensors"});
  succeed({"quantize", folder("odd"), folder("odd_out/")});
  CHECK(contents(folder("odd_out")).size() == 5);
  succeed({"dequantize", folder("odd_out"), folder("odd_back/")});
  CHECK(has(fail(1, {"dequantize", folder("odd_out"), folder("odd_back/")}), "--overwrite"));
  const Json compared =
      Json::parse(succeed({"compare", "--json", folder("odd_out"), folder("odd_back")}));
  CHECK(compared["total"]["max_abs"] == 0);
}

TEST_CASE("of random names of shards, all are written or none") {
  const Folder folder("random_names");
  const std::vector<std::string> parts{"a",    "A",    "b.json", "tq-unfinished",
                                       "done", "lock", "x",      "m.index.json"};
  std::mt19937 random(5);
  int accepted = 0;
  for (int i = 0; i < 24; ++i) {
    std::set<std::string> names;
    while (names.size() < 3) {
      std::string name = parts[random() % parts.size()];
      if (random() % 2 == 0) name += "/" + parts[random() % parts.size()];
      const auto blocks = [&](const std::string& other) {  // a file and a folder of one name
        return other.starts_with(name + "/") || name.starts_with(other + "/");
      };
      if (std::none_of(names.begin(), names.end(), blocks)) names.insert(name);
    }
    fs::remove_all(folder("in"));
    fs::remove_all(folder("out"));
    write_named(folder("in"), {names.begin(), names.end()});
    const Result r = run({"quantize", folder("in"), folder("out/m.index.json")});
    INFO(*names.begin() << " " << *names.rbegin() << ": " << r.err);
    if (r.status != 0) {
      CHECK(has(r.err, "expected"));
      CHECK_FALSE(fs::exists(folder("out")));
      continue;
    }
    ++accepted;
    CHECK(contents(folder("out")).size() == 4);
    succeed({"inspect", folder("out/m.index.json")});
  }
  CHECK(accepted > 0);
  CHECK(accepted < 24);
}

TEST_CASE("a folder that has another model is not written into without --overwrite") {
  const Folder folder("old_model");
  const std::string one = folder("new.safetensors"), out = folder("out");
  tq::io::write_safetensors(one, std::vector<Tensor>{tensor("new", {8, 32})});
  write_named(folder("old"), {"a.safetensors", "b.safetensors", "x/c.safetensors"});
  const auto is_new = [&] {
    const Json listed = Json::parse(succeed({"inspect", out, "--json"}))["tensors"];
    return listed.size() == 1 && listed[0]["name"] == "new";
  };
  // One file in the place of shards: they go with their index.
  succeed({"quantize", folder("old"), out + "/"});
  std::ofstream(out + "/notes.txt") << "kept";
  const auto before = contents(out);
  CHECK(has(fail(1, {"quantize", one, out}), "got the index of another model"));
  CHECK(contents(out) == before);
  succeed({"quantize", one, out, "--overwrite"});
  CHECK(is_new());
  CHECK(contents(out).size() == 2);
  // Where the new file has the name of an old shard, the old index is none of a model either.
  fs::remove_all(out);
  fs::rename(one, folder("a.safetensors"));
  const std::string same = folder("a.safetensors");
  succeed({"quantize", folder("old"), out + "/"});
  CHECK(has(fail(1, {"quantize", same, out + "/a.safetensors"}), "got the index of another model"));
  CHECK(has(fail(1, {"quantize", same, out}), "got the index of another model"));
  succeed({"quantize", same, out, "--overwrite"});
  CHECK(is_new());
  // Shards in the place of more shards, and of an index with another name.
  fs::remove_all(out);
  write_named(folder("two"), {"a.safetensors", "n.safetensors"});
  succeed({"quantize", folder("old"), out + "/"});
  fs::rename(out + "/" + index_name, out + "/other.safetensors.index.json");
  fs::remove(out + "/a.safetensors");
  CHECK(has(fail(1, {"quantize", folder("two"), out}), "other.safetensors.index.json: expected a"));
  CHECK(has(fail(1, {"quantize", folder("two"), out + "/q.index.json"}), "of another model"));
  succeed({"quantize", folder("two"), out, "--overwrite"});
  std::set<std::string> names;
  for (const auto& [name, bytes] : contents(out)) names.insert(name);
  CHECK(names == std::set<std::string>{index_name, "a.safetensors", "n.safetensors"});
  // A shard that an index beside it names too stays.
  write_index(out + "/kept.index.json", {{"w1", "n.safetensors"}});
  write_named(folder("three"), {"a.safetensors"});
  succeed({"quantize", folder("three"), out, "--overwrite"});
  CHECK(fs::exists(out + "/n.safetensors"));
  CHECK(fs::exists(out + "/kept.index.json"));
}

TEST_CASE("shards do not go through links, or onto what is no file") {
  const Folder folder("shard_links");
  write_named(folder("in"), {"a.safetensors", "x/b.safetensors"});
  fs::create_directories(folder("elsewhere/shards"));
  std::ofstream(folder("elsewhere/shards/precious")) << "kept";
  const auto refused = [&](const std::string& text) {
    const auto before = contents(folder("elsewhere"));
    CHECK(has(fail(1, {"quantize", folder("in"), folder("out/"), "--overwrite"}), text));
    CHECK(contents(folder("elsewhere")) == before);
    fs::remove_all(folder("out"));
    fs::create_directory(folder("out"));
  };
  fs::create_directory(folder("out"));
  fs::create_directory_symlink("../elsewhere", folder("out/x"));
  refused("out/x: expected a folder that is no link");
  std::ofstream(folder("out/x")) << "a file";
  refused("out/x: expected a folder that is no link");
  fs::create_directories(folder("out/a.safetensors"));
  refused("a.safetensors: expected a regular file");
  fs::create_directories(folder("out/" + index_name));
  refused("expected a regular file");
  fs::create_directory_symlink("../elsewhere", folder("out/tq-unfinished"));
  refused("expected the files of an unfinished run of tq");
  fs::create_directories(folder("out/tq-unfinished"));
  fs::create_directory_symlink("../../elsewhere/shards", folder("out/tq-unfinished/shards"));
  refused("tq-unfinished/shards: expected the files of an unfinished run of tq, got a symbolic");
  fs::create_directories(folder("out/tq-unfinished"));
  std::ofstream(folder("out/tq-unfinished/thesis.txt")) << "precious";
  CHECK(has(fail(1, {"quantize", folder("in"), folder("out/")}), "thesis.txt: expected the files"));
  CHECK(content(folder("out/tq-unfinished/thesis.txt")) == "precious");
  // A link in the place of a shard is replaced, and what it names is not.
  fs::remove_all(folder("out/tq-unfinished"));
  fs::create_symlink("../elsewhere/shards/precious", folder("out/a.safetensors"));
  CHECK(has(fail(1, {"quantize", folder("in"), folder("out/")}), "--overwrite replaces it"));
  succeed({"quantize", folder("in"), folder("out/"), "--overwrite"});
  CHECK_FALSE(fs::is_symlink(folder("out/a.safetensors")));
  CHECK(content(folder("elsewhere/shards/precious")) == "kept");
}
