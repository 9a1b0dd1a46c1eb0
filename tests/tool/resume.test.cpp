// SPDX-License-Identifier: MIT
// Runs that end before they are done, and what the next makes of what they left.

#include "gguf_test.hpp"
#include "process.hpp"
#include "shards_test.hpp"
#include "support/share.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <random>
#include <thread>

using namespace tool_test;

namespace {

const std::string index_name = "model.safetensors.index.json";

// A model whose last shard is by far the largest, and a run that the limit of a file's size ends
// there.
class Interrupted {
 public:
  explicit Interrupted(const std::string& name)
      : folder(name), in(folder("in")), out(folder("out/")) {
    std::vector<std::vector<Tensor>> shards = some_shards(3);
    shards[2].push_back(tensor("large", {1024, 1024}));
    write_shards(in, shards);
    succeed({"quantize", in, folder("whole/"), "--type", "int8"});
    whole = contents(folder("whole"));
  }
  [[nodiscard]] Result end_early(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command{"quantize", in, out, "--type", "int8"};
    command.insert(command.end(), more.begin(), more.end());
    return run(command, "ulimit -f 512; trap '' XFSZ; ");
  }
  // A run that must be whole, and its report.
  [[nodiscard]] Json go_on(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command{"quantize", in, out, "--json", "--type", "int8"};
    command.insert(command.end(), more.begin(), more.end());
    return Json::parse(succeed(command));
  }
  [[nodiscard]] std::string unfinished(const std::string& file) const {
    return out + "tq-unfinished/" + file;
  }

  Folder folder;
  std::string in, out;
  std::map<std::string, std::string> whole;
};

}  // namespace

TEST_CASE("shards that are finished are not made anew") {
  const Interrupted model("resume");
  const Result first = model.end_early();
  CHECK(first.status == 1);
  CHECK(has(first.err, "File too large"));
  CHECK(has(first.err, "the same command goes on from there"));
  const auto left = contents(model.out);
  CHECK(left.contains("tq-unfinished/shards/" + shard_name(0, 3)));
  CHECK(left.contains("tq-unfinished/shards/" + shard_name(1, 3)));
  CHECK(left.size() == 6);  // two notes, the run and its lock
  // A shard that is noted stays the file that it is; one without a note, and what a killed writer
  // leaves, are removed.
  const std::string kept = model.unfinished("shards/" + shard_name(0, 3));
  fs::create_hard_link(kept, model.folder("link"));
  fs::remove(model.unfinished("done/" + shard_name(1, 3) + ".json"));
  std::ofstream(model.unfinished("shards/tq-0123456789abcdef.tmp")) << "half";
  std::ofstream(model.unfinished("shards/" + shard_name(2, 3))) << "half";
  const Json report = model.go_on({"--jobs", "2"});
  CHECK(report["shards"] == Json{{"all", 3}, {"finished_before", 1}});
  CHECK(contents(model.out) == model.whole);
  CHECK(fs::hard_link_count(model.folder("link")) == 2);
  CHECK(fs::equivalent(model.folder("link"), model.out + shard_name(0, 3)));
  // The report is that of a run that was not ended.
  const Json whole = Json::parse(
      succeed({"quantize", model.in, model.folder("again/"), "--json", "--type", "int8"}));
  CHECK(whole["tensors"] == report["tensors"]);
}

TEST_CASE("dequantize goes on from the shards that are finished") {
  const Interrupted model("resume_back");
  const std::string small = model.folder("whole"), back = model.folder("back/"),
                    unfinished = back + "tq-unfinished/shards/";
  succeed({"dequantize", small, model.folder("expected/")});
  const Result first = run({"dequantize", small, back}, "ulimit -f 512; trap '' XFSZ; ");
  CHECK(first.status == 1);
  CHECK(has(first.err, "the same command goes on from there"));
  CHECK_FALSE(fs::exists(back + index_name));
  // A finished shard stays the file that it is; one that is half written is made anew.
  fs::create_hard_link(unfinished + shard_name(0, 3), model.folder("link"));
  std::ofstream(unfinished + shard_name(2, 3)) << "half";
  CHECK(has(fail(1, {"dequantize", small, back, "--skip-unreadable"}), "with other options"));
  CHECK(has(fail(1, {"quantize", model.in, back}), "--overwrite replaces it"));
  const Json report = Json::parse(succeed({"dequantize", small, back, "--json", "--jobs", "2"}));
  CHECK(report["shards"] == Json{{"all", 3}, {"finished_before", 2}});
  CHECK(contents(back) == contents(model.folder("expected")));
  CHECK(fs::equivalent(model.folder("link"), back + shard_name(0, 3)));
}

TEST_CASE("a shard that is not as long as it was noted is made anew") {
  const Interrupted model("cut");
  CHECK(model.end_early().status == 1);
  fs::resize_file(model.unfinished("shards/" + shard_name(1, 3)), 100);
  std::ofstream(model.unfinished("done/" + shard_name(0, 3) + ".json")) << "{";
  CHECK(model.go_on()["shards"]["finished_before"] == 0);
  CHECK(contents(model.out) == model.whole);
}

TEST_CASE("a run does not go on from what another has left") {
  const Interrupted model("others");
  const auto refused = [&](std::vector<std::string> command, const std::string& what) {
    const auto before = contents(model.out);
    CHECK(has(fail(1, std::move(command)), "with other " + what + "; --overwrite replaces it"));
    CHECK(contents(model.out) == before);
  };
  CHECK(model.end_early().status == 1);
  refused({"quantize", model.in, model.out, "--type", "int4"}, "options");
  refused({"quantize", model.in, model.out, "--type", "int8", "--exclude", "w0"}, "options");
  refused({"quantize", model.in, model.out, "--type", "int8", "--allow-nonfinite"}, "options");
  const std::string shard = model.in + "/" + shard_name(0, 3);
  const auto time = fs::last_write_time(shard);
  fs::last_write_time(shard, time + std::chrono::seconds(1));
  refused({"quantize", model.in, model.out, "--type", "int8"}, "input");
  CHECK(has(fail(1, {"quantize", model.in, model.out, "--type", "int8"}),
            "It may have changed: " + shard_name(0, 3) + " (time)"));
  fs::last_write_time(shard, time);
  const std::string run = model.unfinished("run.json"), kept = content(run);
  Json changed = Json::parse(kept);
  changed["version"] = "0.0.1";
  std::ofstream(run) << changed.dump();
  refused({"quantize", model.in, model.out, "--type", "int8"}, "version");
  std::ofstream(run) << kept;
  // As it was, it goes on.
  CHECK(model.go_on()["shards"]["finished_before"] == 2);
  CHECK(contents(model.out) == model.whole);
}

TEST_CASE("shards of an input that has changed are made anew") {
  const Interrupted model("changed");
  const std::string shard = model.in + "/" + shard_name(1, 3), config = model.in + "/config.json",
                    scheme = model.folder("scheme.json");
  std::ofstream(scheme) << R"({"version": 1, "default": "int8"})";
  const std::vector<std::string> command{"quantize", model.in,   model.out,
                                         "--json",   "--config", scheme};
  // Ends a run, changes the input, and runs the command again: it is as if nothing had been there.
  const auto made_anew = [&](const std::string& what, const std::function<void()>& change) {
    INFO(what);
    fs::remove_all(model.out);
    fs::remove_all(model.folder("whole"));
    CHECK(run(command, "ulimit -f 512; trap '' XFSZ; ").status == 1);
    CHECK(fs::exists(model.unfinished("done/" + shard_name(1, 3) + ".json")));
    change();
    const Result again = run(command);
    INFO(again.err);
    REQUIRE(again.status == 0);
    CHECK(Json::parse(again.out)["shards"]["finished_before"] == 0);
    CHECK(has(again.err, "are made anew, as the input has changed: " + what));
    succeed({"quantize", model.in, model.folder("whole/"), "--config", scheme});
    CHECK(contents(model.out) == contents(model.folder("whole")));
  };
  // Other values in a file of the same place, size, time and inode, at its end alone.
  made_anew(shard_name(1, 3) + " (content)", [&] {
    const auto time = fs::last_write_time(shard);
    {
      std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-1, std::ios::end);
      file.put('\x01');
    }
    fs::last_write_time(shard, time);
  });
  made_anew("config.json (content, ", [&] { std::ofstream(config) << "{}"; });
  made_anew("config.json (content", [&] {
    const auto time = fs::last_write_time(config);
    std::ofstream(config) << "[]";
    fs::last_write_time(config, time);
  });
  made_anew("config.json (content, ", [&] { fs::remove(config); });
  made_anew("--config (content",
            [&] { std::ofstream(scheme) << R"({"version": 1, "default": "int4"})"; });
}

TEST_CASE("shards of another model are not taken, however alike its files are") {
  const Interrupted model("alike");
  const std::string other = model.folder("other"), copy = model.folder("copy");
  fs::copy(model.in, copy);
  fs::copy(model.in, other);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name = "/" + shard_name(i, 3);
    std::fstream file(other + name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-200, std::ios::end);
    file.put('\x40');
    file.close();
    for (const std::string& folder : {copy, other})
      fs::last_write_time(folder + name, fs::last_write_time(model.in + name));
  }
  fs::last_write_time(copy + "/" + index_name, fs::last_write_time(model.in + "/" + index_name));
  CHECK(model.end_early().status == 1);
  // A copy is known to be the same only by the parts that were looked at.
  const std::string text = fail(1, {"quantize", copy, model.out, "--type", "int8"});
  CHECK(has(text, "with other input; --overwrite replaces it"));
  CHECK(has(text, shard_name(0, 3) + " (path, inode)"));
  const Result anew = run({"quantize", other, model.out, "--type", "int8"});
  CHECK(anew.status == 0);
  CHECK(has(anew.err, shard_name(2, 3) + " (content, path, inode)"));
  succeed({"quantize", other, model.folder("expected/"), "--type", "int8"});
  CHECK(contents(model.out) == contents(model.folder("expected")));
  CHECK_FALSE(contents(model.out) == model.whole);
}

TEST_CASE("a finished shard that somebody has written to is made anew") {
  const Interrupted model("touched");
  CHECK(model.end_early().status == 1);
  const std::string shard = model.unfinished("shards/" + shard_name(1, 3));
  {
    std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x01');
  }
  fs::last_write_time(shard, fs::last_write_time(shard) + std::chrono::seconds(1));
  CHECK(model.go_on()["shards"]["finished_before"] == 1);
  CHECK(contents(model.out) == model.whole);
}

TEST_CASE("only --overwrite replaces what is there") {
  const Interrupted model("overwrite");
  const std::vector<std::string> other{"quantize", model.in, model.out, "--type", "int4"};
  std::vector<std::string> replace = other;
  replace.push_back("--overwrite");
  succeed({"quantize", model.in, model.folder("int4/"), "--type", "int4"});
  const auto int4 = contents(model.folder("int4"));
  // Overwrites a run that was ended.
  CHECK(model.end_early().status == 1);
  CHECK(Json::parse(succeed({"quantize", model.in, model.out, "--type", "int4", "--overwrite",
                             "--json"}))["shards"]["finished_before"] == 0);
  CHECK(contents(model.out) == int4);
  // Overwrites a finished run, whose files stay until the next run is done.
  CHECK(has(fail(1, {"quantize", model.in, model.out, "--type", "int8"}),
            index_name + ": expected a free place for the output, got a file"));
  CHECK(has(fail(1, other), "--overwrite"));
  CHECK(contents(model.out) == int4);
  CHECK(model.end_early({"--overwrite"}).status == 1);
  auto now = contents(model.out);
  std::erase_if(now, [](const auto& file) { return file.first.starts_with("tq-unfinished"); });
  CHECK(now == int4);
  CHECK(model.go_on({"--overwrite"})["shards"]["finished_before"] == 2);
  CHECK(contents(model.out) == model.whole);
  // A shard that has no index is a file as well.
  fs::remove(model.out + index_name);
  CHECK(has(fail(1, {"quantize", model.in, model.out, "--type", "int8"}), shard_name(0, 3)));
  CHECK(fs::exists(model.out + shard_name(0, 3)));
}

TEST_CASE("a run that was ended while it moved its shards is continued") {
  const Interrupted model("moves");
  CHECK(model.end_early().status == 1);
  std::ofstream(model.unfinished("moving"));
  fs::rename(model.unfinished("shards/" + shard_name(0, 3)), model.out + shard_name(0, 3));
  CHECK(model.go_on()["shards"]["finished_before"] == 2);
  CHECK(contents(model.out) == model.whole);
}

TEST_CASE("a shard of another output is none that was moved") {
  const Interrupted model("not_moved");
  CHECK(model.end_early().status == 1);
  // As long as the shard that is gone.
  const std::string gone = model.unfinished("shards/" + shard_name(0, 3));
  std::ofstream(model.out + shard_name(0, 3)) << std::string(fs::file_size(gone), 'x');
  fs::remove(gone);
  CHECK(has(fail(1, {"quantize", model.in, model.out, "--type", "int8"}), shard_name(0, 3)));
  CHECK(model.go_on({"--overwrite"})["shards"]["finished_before"] == 1);
  CHECK(contents(model.out) == model.whole);
}

TEST_CASE("two runs do not work in one place") {
  const Interrupted model("two");
  CHECK(model.end_early().status == 1);
  const auto before = contents(model.out);
  const int file = ::open(model.unfinished("lock").c_str(), O_RDWR);
  REQUIRE(file >= 0);
  REQUIRE(::flock(file, LOCK_EX) == 0);
  for (const std::string more : {"--all", "--overwrite"})
    CHECK(has(fail(1, {"quantize", model.in, model.out, "--type", "int8", more}),
              "expected no other run, got one that works there"));
  ::close(file);
  CHECK(contents(model.out) == before);
  CHECK(model.go_on()["shards"]["finished_before"] == 2);
}

namespace {

// Kills runs of a command at random moments, and lets the next go on.
// `command(out, jobs)`: its arguments.
template <class Command>
void kill_and_go_on(const Folder& folder, Command&& command, int times) {
  const std::string out = folder("out/");
  const auto begin = std::chrono::steady_clock::now();
  Process whole(command(folder("whole/"), "1"));
  REQUIRE(whole.wait() == 0);
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  const auto expected = contents(folder("whole"));
  std::mt19937 random(17);
  int killed = 0;
  test::Share share;
  for (int i = 0; i < times; ++i) {
    const auto moment = longest * (random() % 1000) / 1000;
    const std::string jobs = i % 2 == 0 ? "1" : "2";
    if (!share.takes()) continue;
    fs::remove_all(out);
    // Twice, so that what goes on is killed too.
    for (int k = 0; k < 2; ++k) {
      Process process(command(out, jobs));
      std::this_thread::sleep_for(moment);
      if (!process.runs()) break;
      process.send(SIGKILL);
      killed += process.wait() == SIGKILL ? 1 : 0;  // it may just have ended
    }
    const Result last = run(command(out, jobs));
    INFO(i << ": " << last.err);
    // One that was killed when only its notes were left to remove was done.
    if (last.status != 0) CHECK(has(last.err, "expected a free place for the output"));
    CHECK(contents(out) == expected);
  }
  CHECK(killed != 0);
}

}  // namespace

TEST_CASE("a run that is killed at any moment is continued to the same bytes", "[kill]") {
  const Folder folder("kill");
  write_shards(folder("in"), some_shards(6, 400));
  kill_and_go_on(
      folder,
      [&](const std::string& to, const std::string& jobs) {
        return std::vector<std::string>{"quantize", folder("in"), to,  "--type",
                                        "int8",     "--jobs",     jobs};
      },
      50);
}

TEST_CASE("dequantize that is killed at any moment is continued to the same bytes", "[kill]") {
  const Folder folder("kill_back");
  write_shards(folder("in"), some_shards(6, 400));
  succeed({"quantize", folder("in"), folder("small/"), "--type", "int8"});
  kill_and_go_on(
      folder,
      [&](const std::string& to, const std::string& jobs) {
        return std::vector<std::string>{"dequantize", folder("small"), to, "--jobs", jobs};
      },
      50);
}

TEST_CASE("parts of a GGUF file that is killed at any moment are continued to the same bytes",
          "[kill]") {
  const Folder folder("kill_gguf");
  write_noise_gguf(folder("x.gguf"),
                   ffn_weights(12, 512, [](std::size_t i) { return 32 * (i % 4 + 1); }));
  kill_and_go_on(
      folder,
      [&](const std::string& to, const std::string& jobs) {
        return std::vector<std::string>{"quantize", folder("x.gguf"), to + "y.gguf",
                                        "--type",   "q4_k",           "--shard-size",
                                        "60000",    "--jobs",         jobs};
      },
      50);
}
